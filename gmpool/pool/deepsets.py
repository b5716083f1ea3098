"""DeepSets readout (Zaheer et al., 2017; Buterez et al., 2022): ρ(Σ_i φ(x_i))."""

from __future__ import annotations

from torch import Tensor, nn

from gmpool.nn.columns import Columns
from gmpool.ops.adjacency import Edges
from gmpool.ops.segment import Segments, segment_sum
from gmpool.pool.method import METHODS, GraphSizes, unpack
from gmpool.pool.pooled import Pooled


@METHODS.register("deepsets")
class DeepSets(nn.Module):
    """DeepSets: a network on each node, the sum, a network on the sum. [N, D] -> [B, hidden]"""

    architecture = "global"

    def __init__(self, in_dim: int, hidden_dim: int, *, sizes: GraphSizes | None = None) -> None:
        super().__init__()
        self.out_dim = hidden_dim
        self.of_node = _two_layers(in_dim, hidden_dim)
        self.of_sum = _two_layers(hidden_dim, hidden_dim)

    def forward(
        self,
        x: Tensor | Columns,
        edge_index: Tensor | Edges,
        batch: Tensor | Segments | None = None,
        *,
        edge_attr: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Pooled:
        x, _, segments = unpack(x, edge_index, batch, edge_attr, batch_size)
        return Pooled(self.of_sum(segment_sum(self.of_node(x), segments)))


def _two_layers(in_dim: int, out_dim: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(in_dim, out_dim), nn.ReLU(), nn.Linear(out_dim, out_dim))
