"""Node features as blocks of columns, some of them propagated already, or as one category each.

With jumping knowledge the pooling sees H = [H_1, …, H_L] and graph attention needs Z = ÂH. But
H_{l+1} = ReLU(ÂH_l W + b): message passing has computed ÂH_1 … ÂH_{L-1} on its way, and only ÂH_L
is new. Keeping the blocks apart saves (L-1)/L of that propagation, forward and backward.
"""

from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from gmpool.graph.edges import AnyEdges


@dataclass(frozen=True)
class Columns:
    """[H_1, …, H_L], each [N, D], and ÂH_1, … as far as they are known."""

    blocks: list[Tensor]
    gcn_known: list[Tensor] = field(default_factory=list)

    @property
    def shape(self) -> tuple[int, int]:
        return self.blocks[0].shape[0], sum(block.shape[1] for block in self.blocks)

    @property
    def device(self) -> torch.device:
        return self.blocks[0].device

    @property
    def dtype(self) -> torch.dtype:
        return self.blocks[0].dtype

    @cached_property
    def x(self) -> Tensor:
        """All columns side by side. [N, L·D]"""
        return self.blocks[0] if len(self.blocks) == 1 else torch.cat(self.blocks, dim=1)

    def gcn(self, edges: AnyEdges) -> list[Tensor]:
        """Â applied to all columns, still apart."""
        rest = [edges.gcn.matmul(block) for block in self.blocks[len(self.gcn_known) :]]
        return [*self.gcn_known, *rest]


def plain(x: Tensor | Columns) -> Tensor:
    """[N, D], whichever way the columns came."""
    return x.x if isinstance(x, Columns) else x


@dataclass(frozen=True)
class OneHot:
    """X with a single 1 in each row. Its product with a matrix is a choice of the matrix's rows."""

    categories: Tensor  # int64 [N]: the column of each row's 1
    width: int  # F

    @property
    def dense(self) -> Tensor:
        """float32 [N, F]"""
        return torch.nn.functional.one_hot(self.categories, self.width).to(torch.float32)

    def linear(self, weight: Tensor) -> Tensor:
        """X Wᵀ. weight [D, F] -> [N, D]"""
        return weight.t().contiguous().index_select(0, self.categories)
