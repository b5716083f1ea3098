"""DiffPool (Ying et al., 2018): a graph convolution assigns the nodes to K clusters.

    S = softmax(GCN(X, A)) ;  X' = Sᵀ X ;  A' = Sᵀ A S
    link loss ‖A − S Sᵀ‖_F / n² ,  entropy loss  mean_i H(S_i)

Nothing of size n × n is made: ‖A − S Sᵀ‖² = ‖A‖² − 2 Σ_ij A_ij s_i·s_j + ‖SᵀS‖².
"""

from __future__ import annotations

import torch
from torch import Tensor

from gmpool.graph.coarse_edges import CoarseEdges
from gmpool.graph.edges import AnyEdges
from gmpool.nn.conv import GCNConv
from gmpool.ops.grouped import collect
from gmpool.ops.segment import Segments, segment_mean, segment_sum
from gmpool.options import between
from gmpool.pool.method import METHODS, MOST_WEIGHT, GraphSizes, Method, Pooled, rows_wanted


@METHODS.register("diffpool")
class DiffPool(Method):
    """DiffPool: learned soft clusters, with link prediction and entropy losses.

    num_clusters: K; none: ratio · mean nodes, rounded up.
    ratio: of nodes to clusters.
    link_weight, entropy_weight: of the two losses.
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
        link_weight: float = 1.0,
        entropy_weight: float = 1.0,
    ) -> None:
        super().__init__()
        self.rows_per_graph = rows_wanted(num_clusters, sizes, ratio, option="num_clusters")
        between(0, MOST_WEIGHT, link_weight=link_weight, entropy_weight=entropy_weight)
        self.link_weight, self.entropy_weight = link_weight, entropy_weight
        self.out_dim = in_dim
        self.assign = GCNConv(in_dim, self.rows_per_graph)

    def pool(self, x: Tensor, edges: AnyEdges, segments: Segments) -> Pooled:
        """x [N, D] -> Pooled with x [B, K, D] and dense coarse graphs"""
        log_s = self.assign(x, edges).log_softmax(1)  # [N, K]
        s = log_s.exp()
        a_s = edges.plain.matmul(s)  # A S
        coarse = CoarseEdges(collect(s[:, None], a_s, segments)[0])
        losses = {
            "link": self.link_weight * link_loss(s, a_s, edges, segments),
            "entropy": self.entropy_weight * entropy_loss(log_s, segments),
        }
        rows = collect(s[:, None].to(x.dtype), x, segments)[0]
        after = segments.with_rows(self.rows_per_graph)
        return Pooled(rows, s, losses=losses, edges=coarse, segments=after)


def link_loss(s: Tensor, a_s: Tensor, edges: AnyEdges, segments: Segments) -> Tensor:
    """‖A − S Sᵀ‖_F / n², mean over graphs."""
    cross = segment_sum((s * a_s).sum(1, keepdim=True), segments)[:, 0]
    gram = collect(s[:, None], s, segments)[0].square().sum((1, 2))
    squared = edges.squared_sum(segments).to(s.dtype) - 2 * cross + gram  # [B]
    n = segments.counts.clamp(min=1).to(s.dtype)
    return segments.mean_over_graphs(root(squared) / n.square())


def entropy_loss(log_s: Tensor, segments: Segments) -> Tensor:
    """Entropy of the nodes' assignments: mean over nodes, then over graphs. From log S, because
    the derivative of s log s at a share that has vanished is not a number."""
    entropy = -(log_s.exp() * log_s).sum(1, keepdim=True)
    return segments.mean_over_graphs(segment_mean(entropy, segments)[:, 0])


def root(x: Tensor) -> Tensor:
    """√x with a gradient of 0 where rounding has left nothing of x."""
    return x.clamp(min=max(1e-12, torch.finfo(x.dtype).tiny)).sqrt()
