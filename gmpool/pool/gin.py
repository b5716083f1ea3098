"""Sum pooling: the paper's GIN row, whose message passing is GIN (Xu et al., 2019)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from torch import Tensor

from gmpool.graph.edges import AnyEdges
from gmpool.ops.segment import Segments, segment_sum
from gmpool.pool.method import METHODS, GraphSizes, Method, Pooled


@METHODS.register("gin")
class SumPool(Method):
    """Sum of the nodes after GIN message passing (the paper's GIN row). [N, D] -> [B, D]"""

    architecture = "global"
    settings: ClassVar[Mapping[str, Any]] = {"conv": "gin"}

    def __init__(self, in_dim: int, hidden_dim: int, *, sizes: GraphSizes | None = None) -> None:
        super().__init__()
        self.out_dim = in_dim

    def pool(self, x: Tensor, edges: AnyEdges, segments: Segments) -> Pooled:
        return Pooled(segment_sum(x, segments))
