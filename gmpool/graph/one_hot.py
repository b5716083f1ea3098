"""Node features that are one category each, kept as numbers."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


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
