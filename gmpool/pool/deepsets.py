"""DeepSets readout (Zaheer et al., 2017; Buterez et al., 2022): ρ(Σ_i φ(x_i))."""

from __future__ import annotations

from torch import Tensor

from gmpool.graph.edges import AnyEdges
from gmpool.nn.two_layers import TwoLayers
from gmpool.ops.segment import Segments, segment_sum
from gmpool.pool.method import METHODS, GraphSizes, Method, Pooled


@METHODS.register("deepsets")
class DeepSets(Method):
    """DeepSets: a network on each node, the sum, a network on the sum. [N, D] -> [B, hidden]"""

    architecture = "global"

    def __init__(self, in_dim: int, hidden_dim: int, *, sizes: GraphSizes | None = None) -> None:
        super().__init__()
        self.out_dim = hidden_dim
        self.of_node = TwoLayers(in_dim, hidden_dim, hidden_dim)
        self.of_sum = TwoLayers(hidden_dim, hidden_dim, hidden_dim)

    def pool(self, x: Tensor, edges: AnyEdges, segments: Segments) -> Pooled:
        return Pooled(self.of_sum(segment_sum(self.of_node(x), segments)))
