"""MinCutPool (Bianchi, Grattarola & Alippi, 2020): clusters that a relaxed normalised cut likes.

S = softmax(MLP(X)) ;  X' = Sᵀ X ;  A' = Sᵀ A S without its diagonal, normalised
cut loss −Tr(Sᵀ A S) / Tr(Sᵀ D S) ,  orthogonality loss ‖SᵀS/‖SᵀS‖_F − I/√K‖_F
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gmpool.graph.coarse_edges import CoarseEdges
from gmpool.graph.edges import AnyEdges
from gmpool.ops.grouped import collect
from gmpool.ops.segment import Segments, segment_sum
from gmpool.options import between
from gmpool.pool.diffpool import root
from gmpool.pool.method import METHODS, MOST_WEIGHT, GraphSizes, Method, Pooled, rows_wanted

NO_DEGREE = 1e-12
"""A cluster with less of links to others counts as one without any: the derivative of D^-1/2 grows
as degree^-3/2, beyond all numbers for one that has all but vanished."""


@METHODS.register("mincut")
class MinCutPool(Method):
    """MinCutPool: learned soft clusters, with cut and orthogonality losses.

    num_clusters: K; none: ratio · mean nodes, rounded up.
    ratio: of nodes to clusters.
    normalise: whether A' loses its diagonal and is scaled by its degrees, as published.
    cut_weight, orthogonality_weight: of the two losses.
    """

    architecture = "clusters"
    rebuilds = frozenset({"x", "a"})
    rows_per_graph: int
    reads = frozenset({"plain"})

    def __init__(
        self,
        in_dim: int,
        hidden_dim: int,
        *,
        sizes: GraphSizes | None = None,
        num_clusters: int | None = None,
        ratio: float = 0.25,
        normalise: bool = True,
        cut_weight: float = 1.0,
        orthogonality_weight: float = 1.0,
    ) -> None:
        super().__init__()
        self.rows_per_graph = rows_wanted(num_clusters, sizes, ratio, option="num_clusters")
        weights = {"cut_weight": cut_weight, "orthogonality_weight": orthogonality_weight}
        between(0, MOST_WEIGHT, **weights)
        self.normalise = normalise
        self.cut_weight, self.orthogonality_weight = cut_weight, orthogonality_weight
        self.out_dim = in_dim
        self.assign = nn.Linear(in_dim, self.rows_per_graph)

    def pool(self, x: Tensor, edges: AnyEdges, segments: Segments) -> Pooled:
        """x [N, D] -> Pooled with x [B, K, D] and dense coarse graphs"""
        s = self.assign(x).softmax(1)  # [N, K]
        a_s = edges.plain.matmul(s)  # A S
        degree = edges.plain.matmul(s.new_ones(s.shape[0], 1))  # [N, 1]
        blocks = collect(s[:, None], a_s, segments)[0]  # [B, K, K]
        losses = {
            "cut": self.cut_weight * cut_loss(s, a_s, degree, segments),
            "orthogonality": self.orthogonality_weight * orthogonality_loss(s, segments),
        }
        coarse = CoarseEdges(normalised(blocks) if self.normalise else blocks)
        rows = collect(s[:, None].to(x.dtype), x, segments)[0]
        after = segments.with_rows(self.rows_per_graph)
        return Pooled(rows, s, losses=losses, edges=coarse, segments=after)


def cut_loss(s: Tensor, a_s: Tensor, degree: Tensor, segments: Segments) -> Tensor:
    """−Tr(Sᵀ A S) / Tr(Sᵀ D S), mean over graphs; there is nothing to cut in a graph without
    edges, and its part is 0."""
    inside = segment_sum((s * a_s).sum(1, keepdim=True), segments)[:, 0]
    volume = segment_sum((degree * s.square()).sum(1, keepdim=True), segments)[:, 0]
    some = volume > 0
    cut = torch.where(some, inside / torch.where(some, volume, 1.0), 0.0)
    return -segments.mean_over_graphs(cut)


def orthogonality_loss(s: Tensor, segments: Segments) -> Tensor:
    """‖SᵀS/‖SᵀS‖ − I/√K‖ = √(2 − 2 Tr(SᵀS) / (√K ‖SᵀS‖)), mean over graphs."""
    gram = collect(s[:, None], s, segments)[0]  # [B, K, K]
    trace = gram.diagonal(dim1=1, dim2=2).sum(1)
    norm = root(gram.square().sum((1, 2)))
    return segments.mean_over_graphs(root(2 - 2 * trace / (gram.shape[1] ** 0.5 * norm)))


def normalised(blocks: Tensor) -> Tensor:
    """D^-1/2 A' D^-1/2 of A' without its diagonal. [B, K, K]"""
    K = blocks.shape[1]
    a = blocks * (1 - torch.eye(K, dtype=blocks.dtype, device=blocks.device))
    degree = a.sum(2)
    some = degree > NO_DEGREE
    scale = torch.where(some, torch.where(some, degree, 1.0).rsqrt(), 0.0)
    return scale[:, :, None] * a * scale[:, None, :]
