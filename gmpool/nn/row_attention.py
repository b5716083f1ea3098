"""Attention among the rows of each graph: what SelfAtt is made of (equation 8)."""

from typing import Any

import torch
from torch import Tensor, nn

from gmpool.nn.attention import Attended, MultiHeadAttention
from gmpool.ops import onnx_forms
from gmpool.ops.add_bias import affine
from gmpool.ops.row_ids import inverse, row_ids
from gmpool.ops.segment import Segments, segment_softmax
from gmpool.ops.sparse import Pattern, sddmm, spmm


class RowAttention(MultiHeadAttention):
    """The rows of each graph attend to each other. Softmax "seeds" is over the querying rows.

    in_dim: width of the rows.
    dim: of queries, keys and values; the other options are MultiHeadAttention's.
    """

    def __init__(self, in_dim: int, dim: int, **options: Any) -> None:
        super().__init__(dim, **options)
        self.to_query_key_value = nn.Linear(in_dim, 3 * dim)

    def forward(self, x: Tensor, graphs: Segments | int) -> Attended:
        """x [N, D_in] -> out [N, D]; graphs: a number is the rows of each, if all have as many."""
        all_three = self.to_query_key_value
        query, key, value = affine(x, all_three.weight, all_three.bias).chunk(3, dim=-1)  # [N, D]
        q, k, v = self.heads(query), self.heads(key), self.heads(value)  # [N, H, d]
        if isinstance(graphs, Segments):
            return Attended(self.project(self._ragged(q, k, v, graphs)), query)
        return Attended(self.project(self._dense(q, k, v, graphs)), query)

    def _dense(self, q: Tensor, k: Tensor, v: Tensor, size: int) -> Tensor:
        q = self.factor * q  # rather than the scores, which are many
        q, k, v = (t.unflatten(0, (-1, size)).transpose(1, 2) for t in (q, k, v))  # [B, H, K, d]
        # A softmax runs along the last axis, where it is fast: the queries' or the keys'.
        a = (k @ q.mT).softmax(3).mT if self.softmax == "seeds" else (q @ k.mT).softmax(3)
        return (a @ v).transpose(1, 2).flatten(2).flatten(0, 1)  # [B·K, D]

    def _ragged(self, q: Tensor, k: Tensor, v: Tensor, segments: Segments) -> Tensor:
        """All pairs within each graph, as the entries of a sparse matrix: Σ n_g² of them."""
        if onnx_forms.are_wanted():
            return onnx_forms.row_attention(self.factor * q, k, v, segments.batch, self.softmax)
        pairs = complete_graphs(segments)
        assert pairs.to_t is not None
        # A softmax over a query's keys runs along rows; over a key's queries along columns.
        entries = pairs if self.softmax == "nodes" else pairs.transposed
        place = torch.arange(pairs.col.shape[0], device=q.device)
        groups = Segments(entries.rows, place, entries.rowptr)
        out = []
        for i in range(self.num_heads):
            score = self.factor * sddmm(pairs, q[:, i].contiguous(), k[:, i].contiguous())
            if self.softmax == "seeds":
                score = score.index_select(0, pairs.to_t)
            a = segment_softmax(score[:, None], groups)[:, 0]
            if self.softmax == "seeds":
                a = a.index_select(0, pairs.to_t)
            out.append(spmm(pairs, v[:, i].contiguous(), a))
        return torch.cat(out, dim=1)


def complete_graphs(segments: Segments) -> Pattern:
    """Every ordered pair of nodes of the same graph; the pattern is its own transpose.

    Row i lists its graph's nodes in `order`; entry (i, j) is found again at (j, i) by to_t.
    """
    n = segments.counts.index_select(0, segments.batch)  # [N] row lengths
    rowptr = torch.cat([n.new_zeros(1), n.cumsum(0)])
    E: Any = rowptr[-1].item()
    row = row_ids(rowptr, E)
    start = segments.ptr.index_select(0, segments.batch)  # [N] first place of the row's graph
    within = torch.arange(E, device=n.device) - rowptr.index_select(0, row)
    col = segments.order.index_select(0, start.index_select(0, row) + within)
    rank = inverse(segments.order) - start  # [N] place of a node within its graph
    to_t = rowptr.index_select(0, col) + rank.index_select(0, row)
    return Pattern(rowptr, col, rowptr, col, to_t=to_t, from_t=to_t)
