"""StructPool (Yuan & Ji, 2020): clusters as the labels of a conditional random field.

    unary Z = GCN(X, A) ;  pairwise W_ij = x_i·x_j / Σ_{m≠i} x_i·x_m  for j ≠ i ,  M_c learned
    five rounds of mean field from U = Z:   Q = softmax(U) ,  U ← Z − (W Q) M_c
    S = softmax(U) ;  X' = Sᵀ X ;  A' = Sᵀ A S

Without a limit on the reach, W has rank D plus a diagonal: W Q takes O(n·D·K) instead of n².
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from gmpool.errors import unknown
from gmpool.graph.edges import AnyEdges
from gmpool.graph.neighbourhoods import reach
from gmpool.nn.conv import GCNConv
from gmpool.nn.no_influence import without_influence
from gmpool.ops.grouped import collect, match
from gmpool.ops.segment import Segments, segment_gather, segment_sum
from gmpool.ops.sparse import sddmm, spmm
from gmpool.options import between
from gmpool.pool.method import METHODS, MOST_ROUNDS, GraphSizes, Method, Pooled, rows_wanted
from gmpool.pool.sortpool import ConvolutionReadout

READOUTS = ("graph", "convolution")
SMALL = 1e-4
"""A denominator is kept at least this fraction of ‖x_i‖ ‖Σ x‖ away from 0."""

Mixing = Callable[[Tensor], Tensor]  # Q -> W Q


@METHODS.register("structpool")
class StructPool(Method):
    """StructPool: clusters by mean-field inference in a random field. [N, D] -> [B, out_dim]

    num_clusters: K; none: by a rule from the sizes of the graphs.
    ratio: of nodes to clusters.
    rule: "ratio", ratio · mean nodes as in the comparison; or its own, "size60": the size under
        which 60 % of the graphs lie.
    rounds: of mean field.
    hops: nodes within so many steps interact; none: all nodes of a graph, as published.
    readout: "graph", a graph convolution on the coarse graph and the mean of its rows; or
        "convolution", the publication's 1-D convolutions along the rows.
    """

    architecture = "global"
    rebuilds = frozenset({"x", "a"})

    @classmethod
    def has_fixed_shapes(cls, options: Mapping[str, Any]) -> bool:
        return not options.get("hops")  # who is within reach depends on the graphs

    def __init__(
        self,
        in_dim: int,
        hidden_dim: int,
        *,
        sizes: GraphSizes | None = None,
        num_clusters: int | None = None,
        ratio: float = 0.25,
        rule: str = "ratio",
        rounds: int = 5,
        hops: int | None = None,
        readout: str = "graph",
    ) -> None:
        super().__init__()
        if readout not in READOUTS:
            raise unknown("readout", readout, READOUTS)
        between(0, MOST_ROUNDS, rounds=rounds)
        between(1, MOST_ROUNDS, hops=1 if hops is None else hops)
        wanted = rows_wanted(num_clusters, sizes, ratio, rule, option="num_clusters")
        self.rows_per_graph = wanted
        self.rounds, self.hops = rounds, hops
        self.unary = GCNConv(in_dim, self.rows_per_graph)
        self.compatibility = nn.Parameter(-torch.eye(self.rows_per_graph))
        self.readout: ConvolutionReadout | GCNConv | None
        if readout == "convolution":
            self.readout = ConvolutionReadout(in_dim, self.rows_per_graph)
            self.out_dim = self.readout.out_dim
        else:
            self.readout = GCNConv(in_dim, hidden_dim)
            self.out_dim = hidden_dim

    @property
    def reads(self) -> frozenset[str]:
        coarse = frozenset() if self.readout is None else frozenset({"plain"})
        return coarse if self.hops is None else coarse | {"entries"}

    def pool(self, x: Tensor, edges: AnyEdges, segments: Segments) -> Pooled:
        s = self.assign(x, edges, segments)
        rows = collect(s[:, None].to(x.dtype), x, segments)[0]  # [B, K, D]
        coarse = edges.coarsened(s, segments)
        assert self.readout is not None, "without a readout it only assigns"
        if isinstance(self.readout, ConvolutionReadout):
            out = self.readout(rows)
        else:
            out = torch.relu(self.readout(rows.flatten(0, 1), coarse))
            out = out.view(*rows.shape[:2], out.shape[1]).mean(1)
        return Pooled(out, s)

    def assign(self, x: Tensor, edges: AnyEdges, segments: Segments) -> Tensor:
        """S by mean field. [N, K]"""
        z = self.unary(x, edges)
        mix = everyone(x, segments) if self.hops is None else neighbours(x, edges, self.hops)
        u = z
        for _ in range(self.rounds):
            u = z - mix(u.softmax(1).to(x.dtype)) @ self.compatibility.to(z.dtype)
        s = u.softmax(1)
        return s if self.rounds else without_influence(s, self.compatibility)


def everyone(x: Tensor, segments: Segments) -> Mixing:
    """W Q where all nodes of a graph interact: the sum over all j, less the part of j = i."""
    total = segment_gather(segment_sum(x, segments), segments)  # [N, D]
    own = x.square().sum(1, keepdim=True)
    alone = (segments.counts == 1)[segments.batch, None]  # for whom the difference is rounding
    scale = (1 / kept_from_zero((x * total).sum(1, keepdim=True) - own, x, total)).masked_fill(
        alone, 0.0
    )

    def mix(q: Tensor) -> Tensor:
        sums = collect(q[:, None], x, segments)  # [1, B, K, D]
        return scale * (match(x, sums, segments)[:, 0] - own * q)

    return mix


def neighbours(x: Tensor, edges: AnyEdges, hops: int) -> Mixing:
    """W Q where nodes within so many steps interact."""
    pattern = reach(edges.entries.pattern, hops)
    weight = sddmm(pattern, x, x)  # [P]
    total = spmm(pattern, x)
    scale = 1 / kept_from_zero(spmm(pattern, torch.ones_like(x[:, :1]), weight), x, total)

    def mix(q: Tensor) -> Tensor:
        return scale * spmm(pattern, q, weight)

    return mix


def kept_from_zero(denominator: Tensor, x: Tensor, total: Tensor) -> Tensor:
    """The denominator, no nearer to 0 than rounding allows, with its sign."""
    floor = SMALL * (x.norm(dim=1, keepdim=True) * total.norm(dim=1, keepdim=True)).detach()
    floor = floor.clamp(min=torch.finfo(x.dtype).eps)
    sign = torch.where(denominator < 0, -1.0, 1.0).to(x.dtype)
    return torch.where(denominator.abs() < floor, sign * floor, denominator)
