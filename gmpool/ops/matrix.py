"""What an operator asks of a matrix that it multiplies with, however its entries are kept."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor


class Matrix(Protocol):
    """An N × N matrix whose entry (i, j) is the weight of the edge j -> i."""

    def matmul(self, x: Tensor) -> Tensor:
        """[N, D] -> [N, D]"""

    @property
    def transposed(self) -> Matrix: ...

    @property
    def learns(self) -> bool:
        """Whether its entries have a gradient."""
