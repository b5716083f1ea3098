"""Mean pooling: the paper's GCN row when message passing is GCN."""

from __future__ import annotations

from torch import Tensor, nn

from gmpool.nn.columns import Columns
from gmpool.ops.adjacency import Edges
from gmpool.ops.segment import Segments, segment_mean
from gmpool.pool.method import METHODS, GraphSizes, unpack
from gmpool.pool.pooled import Pooled


@METHODS.register("mean")
class MeanPool(nn.Module):
    """Mean of the nodes after message passing (the paper's GCN row). [N, D] -> [B, D]"""

    architecture = "global"

    def __init__(self, in_dim: int, hidden_dim: int, *, sizes: GraphSizes | None = None) -> None:
        super().__init__()
        self.out_dim = in_dim

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
        return Pooled(segment_mean(x, segments))
