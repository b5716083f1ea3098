"""SortPool (Zhang et al., 2018, "DGCNN"): sort the nodes, keep K, read them as a sequence.

Nodes are sorted by their last feature, from the largest down. The publication breaks ties by the
features before it; most implementations leave them to the order of the nodes, and after a ReLU
ties are the rule. Here `ties="content"` breaks them by a fixed projection of the whole row: rows
that differ are told apart, and rows that are equal may be swapped, so that the result depends on
the graph alone. `ties="position"` is what the other implementations do.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gmpool.errors import unknown
from gmpool.graph import AnyEdges, Segments
from gmpool.nn.keeps_options import KeepsOptions
from gmpool.ops.selection import ranking
from gmpool.pool.method import METHODS, GraphSizes, Method, Pooled, rows_wanted

TIES = ("content", "position")


class ConvolutionReadout(KeepsOptions):
    """DGCNN's: each row to 16 channels, maxima of pairs of rows, a convolution over 5 of those.

    rows [B, K, D] -> [B, out_dim]. With few rows the convolution is as wide as there are.

    in_dim: D.
    num_rows: K.
    """

    def __init__(self, in_dim: int, num_rows: int) -> None:
        super().__init__()
        self.per_row = nn.Linear(in_dim, 16)
        self.pair = min(2, num_rows)
        left = num_rows // self.pair
        width = min(5, left)
        self.along = nn.Conv1d(16, 32, width)
        self.out_dim = 32 * (left - width + 1)

    def forward(self, rows: Tensor) -> Tensor:
        y = torch.relu(self.per_row(rows)).transpose(1, 2)  # [B, 16, K]
        y = nn.functional.max_pool1d(y, self.pair)
        return torch.relu(self.along(y)).flatten(1)


@METHODS.register("sortpool")
class SortPool(Method):
    """SortPool: the first K nodes by their last feature, read by 1-D convolutions. [B, out_dim]

    num_rows: K; none: by a rule from the sizes of the graphs.
    ratio: of nodes to rows.
    rule: "ratio", ratio · mean nodes as in the comparison; or DGCNN's own, "size60": the size under
        which 60 % of the graphs lie, at least 10.
    ties: of equal last features: "content" or "position", as above.
    """

    architecture = "global"
    rows_per_graph: int
    direction: Tensor

    def __init__(
        self,
        in_dim: int,
        hidden_dim: int,
        *,
        sizes: GraphSizes | None = None,
        num_rows: int | None = None,
        ratio: float = 0.25,
        rule: str = "ratio",
        ties: str = "content",
    ) -> None:
        super().__init__()
        if ties not in TIES:
            raise unknown("ties", ties, TIES)
        least = 10 if rule == "size60" else 1
        self.rows_per_graph = max(least, rows_wanted(num_rows, sizes, ratio, rule))
        self.ties = ties
        self.readout = ConvolutionReadout(in_dim, self.rows_per_graph)
        self.out_dim = self.readout.out_dim
        # Irrational and unequal, so that different rows have different projections.
        direction = torch.arange(1, in_dim + 1, dtype=torch.float64).sqrt().sin()
        self.register_buffer("direction", direction.float(), persistent=False)

    def pool(self, x: Tensor, edges: AnyEdges, segments: Segments) -> Pooled:
        return Pooled(self.readout(self.sorted_rows(x, segments)))

    def sorted_rows(self, x: Tensor, segments: Segments) -> Tensor:
        """The first K rows of each graph in order; a smaller graph ends in rows of 0. [B, K, D]"""
        B, K = segments.num_graphs, self.rows_per_graph
        tie = x.detach() @ self.direction.to(x.dtype) if self.ties == "content" else None
        order = ranking(x[:, -1], segments, tie)
        slot = torch.arange(K, device=x.device).expand(B, K)
        there = slot < segments.counts[:, None]
        place = torch.where(there, segments.ptr[:-1, None] + slot, 0).flatten()
        if order.shape[0] == 0:
            return x.new_zeros(B, K, x.shape[1])
        rows = x.index_select(0, order.index_select(0, place)).view(B, K, -1)
        return rows * there[:, :, None].to(x.dtype)
