"""TopKPool (Gao & Ji, 2019; Cangea et al., 2018): keep the nodes that a learned direction likes.

s = X p / ‖p‖ ;  keep the ceil(ratio · n) best ;  x'_i = x_i tanh(s_i)
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gmpool.graph import AnyEdges, Segments
from gmpool.graph.induced import induced
from gmpool.ops.selection import best_of_each
from gmpool.pool.method import METHODS, GraphSizes, Method, Pooled, check_ratio


@METHODS.register("topk")
class TopKPool(Method):
    """TopKPool: keeps the nodes with the best projections on a learned vector.

    ratio: how many nodes of a graph are kept, rounded up.
    """

    architecture = "selection"
    rebuilds = frozenset({"x"})  # which nodes are kept does not change smoothly
    reads = frozenset({"entries", "edge_attr"})

    def __init__(
        self, in_dim: int, hidden_dim: int, *, sizes: GraphSizes | None = None, ratio: float = 0.25
    ) -> None:
        super().__init__()
        check_ratio(ratio)
        self.ratio, self.out_dim = ratio, in_dim
        self.weight = nn.Parameter(torch.empty(in_dim))
        nn.init.uniform_(self.weight, -(in_dim**-0.5), in_dim**-0.5)

    def pool(self, x: Tensor, edges: AnyEdges, segments: Segments) -> Pooled:
        """x [N, D] -> Pooled with x [M, D] and the graph among the kept nodes"""
        score = (x @ self.weight) / self.weight.norm()
        return keep_best(x, torch.tanh(score), edges, segments, self.ratio)


def keep_best(
    x: Tensor, score: Tensor, edges: AnyEdges, segments: Segments, ratio: float
) -> Pooled:
    """The graph of the best nodes, each scaled by its score, through which the score learns."""
    kept, left = best_of_each(score, segments, ratio)
    rows = x.index_select(0, kept) * score.index_select(0, kept)[:, None]
    return Pooled(rows, edges=induced(edges, kept, left), segments=left, kept=kept)
