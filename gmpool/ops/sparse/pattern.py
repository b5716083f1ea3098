"""Which entries a sparse matrix has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from gmpool.ops.replicas import shifted, union_ptr
from gmpool.ops.row_ids import row_ids


@dataclass(frozen=True)
class Pattern:
    """Which (row, column) pairs an M × N sparse matrix has, and the same for its transpose.

    rowptr [M+1], col [E]: row i has the columns col[rowptr[i]:rowptr[i+1]].
    t_rowptr [N+1], t_col [E]: the transpose, likewise.
    to_t [E]: entry p of the transpose is entry to_t[p] of the matrix; from_t is its inverse. Both
    are None when entry values are equal under transposition (a symmetric matrix), or all ones.
    """

    rowptr: Tensor
    col: Tensor
    t_rowptr: Tensor
    t_col: Tensor
    to_t: Tensor | None = None
    from_t: Tensor | None = None

    @property
    def transposed(self) -> Pattern:
        return Pattern(
            self.t_rowptr, self.t_col, self.rowptr, self.col, to_t=self.from_t, from_t=self.to_t
        )

    @property
    def rows(self) -> Tensor:
        """The row of each entry. [E]"""
        return row_ids(self.rowptr, self.col.numel())


def union_of(
    R: int, dims: tuple[Any, ...], num_rows: int, num_cols: int, *structure: Any
) -> Pattern:
    """The pattern of R disjoint copies (or R patterns side by side)."""
    rowptr, col, t_rowptr, t_col, to_t, from_t = structure
    E = col.shape[-1]
    return Pattern(
        union_ptr(rowptr, dims[0], R, E),
        shifted(col, dims[1], R, num_cols),
        union_ptr(t_rowptr, dims[2], R, E),
        shifted(t_col, dims[3], R, num_rows),
        None if to_t is None else shifted(to_t, dims[4], R, E),
        None if from_t is None else shifted(from_t, dims[5], R, E),
    )
