"""The two blocks of the paper: GMPool_k (equation 7) and SelfAtt (equation 8).

    Z = LN(Q + O) ;  out = LN(Z + rFF(Z)) ,   rFF(Z) = ReLU(Z W + b)
where O is what the queries gathered and Q is either the query itself ("query", as the paper writes
it) or its projection Q W^Q ("projected", as the authors' code has it).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gmpool.errors import UserError, unknown
from gmpool.graph import AnyEdges, Columns, Segments, plain
from gmpool.nn.attention import Attended, SeedAttention
from gmpool.nn.clock import Dropout
from gmpool.nn.conv import ConvFactory, IdentityConv
from gmpool.nn.inputs import check_rows, ragged
from gmpool.nn.keeps_options import KeepsOptions
from gmpool.nn.row_attention import RowAttention
from gmpool.ops.add_bias import affine
from gmpool.options import between
from gmpool.pool.method import MOST_ROWS, Pooled

RESIDUALS = ("projected", "query")


class ResidualFeedForward(KeepsOptions):
    """LN(Z + rFF(Z)) with Z = LN(residual + O).

    dim: width of the rows.
    residual: what is added to O: the "projected" query or the "query" itself.
    layer_norm: whether LN is a layer norm, or nothing.
    dropout: of O and of rFF(Z).
    """

    def __init__(self, dim: int, *, residual: str, layer_norm: bool, dropout: float) -> None:
        super().__init__()
        if residual not in RESIDUALS:
            raise unknown("residual", residual, RESIDUALS)
        self.residual = residual
        self.norm_in = nn.LayerNorm(dim) if layer_norm else nn.Identity()
        self.norm_out = nn.LayerNorm(dim) if layer_norm else nn.Identity()
        self.linear = nn.Linear(dim, dim)
        self.drop = Dropout(dropout) if dropout else None

    def forward(self, query: Tensor, attended: Attended, rows_per_graph: int | None) -> Tensor:
        """rows_per_graph: of those along the first axis; none: they are nodes."""
        start = query if self.residual == "query" else attended.query
        z = self.norm_in(start + self._dropped(attended.out, rows_per_graph))
        forward = affine(z, self.linear.weight, self.linear.bias, relu=True)
        return self.norm_out(z + self._dropped(forward, rows_per_graph))

    def _dropped(self, x: Tensor, rows_per_graph: int | None) -> Tensor:
        if self.drop is None:
            return x
        dropped: Tensor = self.drop(x, rows_per_graph)
        return dropped


class GMPool(KeepsOptions):
    """Graph multiset pooling: n nodes of each graph become K rows, by attention from K seeds.

    dim: width of nodes, seeds and output.
    num_seeds: K.
    num_heads: H, by which dim can be divided.
    conv: makes keys and values: "gcn", "gin", None (linear, no edges), or a factory
        `(in_dim, out_dim) -> Module`.
    softmax: "seeds" (each node is shared out among the seeds; sees multiplicity) or "nodes".
    layer_norm: whether LN is a layer norm, or nothing.
    dropout: of what the seeds gather and of rFF(Z).
    scale: scores are divided by √dim ("width", as the authors' code does), √(dim/H) ("head") or by
        nothing ("none", as the paper writes it).
    residual: what is added to O: the "projected" seeds, as in the authors' code, or the seeds
        themselves ("query"), as in the paper.
    out_projection: whether the heads are mixed by the paper's W^O.
    """

    def __init__(
        self,
        dim: int,
        num_seeds: int,
        *,
        num_heads: int = 1,
        conv: str | ConvFactory | None = "gcn",
        softmax: str = "seeds",
        layer_norm: bool = False,
        dropout: float = 0.0,
        scale: str = "width",
        residual: str = "projected",
        out_projection: bool = False,
    ) -> None:
        super().__init__()
        between(1, MOST_ROWS, num_seeds=num_seeds)
        self.seeds = nn.Parameter(torch.empty(num_seeds, dim))
        nn.init.xavier_uniform_(self.seeds)
        self.attention = SeedAttention(
            dim,
            num_heads=num_heads,
            conv=conv,
            softmax=softmax,
            scale=scale,
            out_projection=out_projection,
        )
        self.after = ResidualFeedForward(
            dim, residual=residual, layer_norm=layer_norm, dropout=dropout
        )

    def forward(
        self,
        x: Tensor | Columns,
        edge_index: Tensor | AnyEdges,
        batch: Tensor | Segments | None = None,
        *,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
        batch_size: int | None = None,
        return_assignment: bool = False,
    ) -> Pooled:
        """x [N, D], edge_index [2, E], batch [N] -> Pooled with x [B, K, D]"""
        given = (x, edge_index, batch, batch_size, edge_weight, edge_attr)
        on_graph = not isinstance(self.attention.to_key, IdentityConv)
        edges, segments = ragged(self, *given, edges_count=on_graph)
        attended = self.attention(self.seeds, x, edges, segments, want_attention=return_assignment)
        out = self.after(self.seeds, attended, 1)
        if not return_assignment:
            return Pooled(out)
        return Pooled(out, attended.attention.mean(1), attended.attention)


class SelfAtt(KeepsOptions):
    """Self-attention among the rows of each graph: their relations beside their content.

    Called with [B, K, D] (K rows of every graph, as after a pooling) or with [N, D] and batch.

    in_dim: width of the rows.
    out_dim: width of the result; none: in_dim.
    num_heads: H, by which out_dim can be divided.
    softmax: over the querying rows ("seeds") or over those they attend to ("nodes").
    layer_norm, dropout, scale, residual, out_projection: as in GMPool, with rows for seeds.
    """

    def __init__(
        self,
        in_dim: int,
        out_dim: int | None = None,
        *,
        num_heads: int = 1,
        softmax: str = "seeds",
        layer_norm: bool = False,
        dropout: float = 0.0,
        scale: str = "width",
        residual: str = "projected",
        out_projection: bool = False,
    ) -> None:
        super().__init__()
        out_dim = in_dim if out_dim is None else out_dim
        if residual == "query" and out_dim != in_dim:
            raise UserError(
                f'residual="query" adds the input, so it cannot change the width from {in_dim} to '
                f'{out_dim}; use residual="projected" or equal widths'
            )
        self.attention = RowAttention(
            in_dim,
            out_dim,
            num_heads=num_heads,
            softmax=softmax,
            scale=scale,
            out_projection=out_projection,
        )
        self.after = ResidualFeedForward(
            out_dim, residual=residual, layer_norm=layer_norm, dropout=dropout
        )

    def forward(
        self,
        x: Tensor | Columns,
        batch: Tensor | Segments | None = None,
        *,
        batch_size: int | None = None,
    ) -> Tensor:
        if isinstance(x, Tensor) and x.dim() == 3:
            rows, K = x.flatten(0, 1), x.shape[1]
            return self.after(rows, self.attention(rows, K), K).unflatten(0, (-1, K))
        check_rows(self, x)
        x = plain(x)
        segments = Segments.from_batch(batch, x.shape[0], x.device, batch_size)
        return self.after(x, self.attention(x, segments), None)
