"""Mean pooling: the paper's GCN row when message passing is GCN."""

from __future__ import annotations

from torch import Tensor, nn

from gmpool.nn.columns import Columns, plain
from gmpool.ops.adjacency import Edges
from gmpool.ops.segment import Segments, segment_mean
from gmpool.pool.method import METHODS
from gmpool.pool.pooled import Pooled


@METHODS.register("mean")
class MeanPool(nn.Module):
    """Mean of the nodes after message passing (the paper's GCN row). [N, D] -> [B, D]"""

    def __init__(self, in_dim: int, hidden_dim: int, *, mean_nodes: float) -> None:
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
        x = plain(x)
        segments = Segments.from_batch(batch, x.shape[0], x.device, batch_size)
        return Pooled(segment_mean(x, segments))
