"""Mean pooling: the paper's GCN row when message passing is GCN."""

from __future__ import annotations

from torch import Tensor

from gmpool.graph.edges import AnyEdges
from gmpool.ops.segment import Segments, segment_mean
from gmpool.pool.method import METHODS, GraphSizes, Method, Pooled


@METHODS.register("mean")
class MeanPool(Method):
    """Mean of the nodes after message passing (the paper's GCN row). [N, D] -> [B, D]"""

    architecture = "global"

    def __init__(self, in_dim: int, hidden_dim: int, *, sizes: GraphSizes | None = None) -> None:
        super().__init__()
        self.out_dim = in_dim

    def pool(self, x: Tensor, edges: AnyEdges, segments: Segments) -> Pooled:
        return Pooled(segment_mean(x, segments))
