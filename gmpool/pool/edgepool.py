"""EdgePool (Diehl, 2019, "Edge contraction pooling for graph neural networks"): merge neighbours.

r_ij = w · [x_i ‖ x_j] + b  for the edge i -> j ;  s_ij = 1/2 + softmax of r over the edges into j
Edges are contracted by descending s, no node twice.  x' = s_ij (x_i + x_j);  other nodes stay.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gmpool.errors import unknown
from gmpool.graph.edges import AnyEdges, DerivedEdges
from gmpool.graph.merged import image
from gmpool.nn.clock import check_dropout
from gmpool.ops.edge_scores import row_softmax, sum_of_ends
from gmpool.ops.matching import contract
from gmpool.ops.segment import Segments, segment_sum
from gmpool.ops.sparse import Pattern
from gmpool.pool.method import METHODS, GraphSizes, Method, Pooled

SCORES = ("softmax", "tanh", "sigmoid")


@METHODS.register("edgepool")
class EdgePool(Method):
    """EdgePool: merges the ends of the edges with the best learned scores.

    score: how the raw scores of edges become scores: "softmax", "tanh" or "sigmoid"; 1/2 is added
        to each.
    dropout: of raw scores.

    There is no ratio: merging ends when no two unmerged nodes are neighbours, and leaves half of
    the nodes or more.
    """

    architecture = "selection"
    reads = frozenset({"entries"})
    fixed_shapes = False

    def __init__(
        self,
        in_dim: int,
        hidden_dim: int,
        *,
        sizes: GraphSizes | None = None,
        score: str = "softmax",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if score not in SCORES:
            raise unknown("score", score, list(SCORES))
        check_dropout(dropout)
        self.score, self.dropout, self.out_dim = score, dropout, in_dim
        self.raw = nn.Linear(2 * in_dim, 1)
        self.drop = nn.Dropout(dropout)

    def pool(self, x: Tensor, edges: AnyEdges, segments: Segments) -> Pooled:
        """x [N, D] -> Pooled with x [M, D] and the graph of the merged nodes"""
        pattern = edges.entries.pattern
        # Under autocast as well: scores of 8 bits would tie.
        with torch.autocast(x.device.type, enabled=False):
            z = x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
            score, raw = self.scores(z, pattern)
            source, target = pattern.col, pattern.rows
            reverse = pattern.to_t if pattern.t_col is pattern.col else None
            # A softmax ties: over a single edge it is 1. Raw scores decide.
            pairs = contract(source, target, score, x.shape[0], then=raw, reverse=reverse)
            i, j = source.index_select(0, pairs).long(), target.index_select(0, pairs)
            members, first = _merged(i, j, x.shape[0])
            rows = segments.batch.index_select(0, first)
            left = Segments.from_batch(rows, first.shape[0], x.device, segments.num_graphs)
            scale = z.new_ones(first.shape[0]).index_copy(
                0, members.batch.index_select(0, i), score.index_select(0, pairs)
            )
            merged = scale[:, None] * segment_sum(z, members)
        coarse = DerivedEdges(image(edges.entries, members.batch, left), dtype=edges.dtype)
        return Pooled(merged.to(x.dtype), edges=coarse, segments=left, cluster=members.batch)

    def scores(self, x: Tensor, pattern: Pattern) -> tuple[Tensor, Tensor]:
        """s and r of each entry (target, source) of the pattern, both [E]"""
        w_source, w_target = self.raw.weight.to(x.dtype).view(2, -1)
        there, here = (x @ torch.stack([w_source, w_target], dim=1)).unbind(1)  # both [N]
        here = here + self.raw.bias
        raw = self.drop(sum_of_ends(pattern, here, there))
        if self.score == "tanh":
            return 0.5 + torch.tanh(raw), raw
        if self.score == "sigmoid":
            return 0.5 + torch.sigmoid(raw), raw
        dropping = self.training and self.dropout > 0
        # What a target adds to all its edges cancels in the softmax. Without it, targets with the
        # same sources have the same scores to the last bit, and rounding decides nothing.
        logits = raw if dropping else sum_of_ends(pattern, 0 * here, there)
        return 0.5 + row_softmax(pattern, logits), raw


def _merged(i: Tensor, j: Tensor, num_nodes: int) -> tuple[Segments, Tensor]:
    """The nodes of each new row when i and j [P] are merged, and the first of each, ascending."""
    node = torch.arange(num_nodes, device=i.device)
    mate = node.index_copy(0, i, j).index_copy_(0, j, i)
    is_first = node <= mate
    row = is_first.cumsum(0) - 1
    first = is_first.nonzero()[:, 0]
    second = mate.index_select(0, first)
    both = torch.stack([first, second], dim=1).flatten()
    merged = first != second
    order = both.masked_select(torch.stack([torch.ones_like(merged), merged], dim=1).flatten())
    ptr = torch.cat([row.new_zeros(1), (1 + merged.long()).cumsum(0)])
    return Segments(row.index_select(0, torch.minimum(node, mate)), order, ptr), first
