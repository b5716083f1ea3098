"""Of equal things the first: numbers for what is distinct, and matrices of ones between them."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gmpool.graph.colours import Ints
from gmpool.ops.sparse import Pattern


def first_of_each(colours: NDArray[Any]) -> tuple[Ints, Ints]:
    """(where each stands first, the number of each)"""
    # In less than half the time of numpy's.
    found, numbers = torch.unique(torch.from_numpy(colours.view(np.int64)), return_inverse=True)
    number, first = numbers.numpy(), np.empty(len(found), dtype=np.int64)
    first[number[::-1]] = np.arange(len(number))[::-1]
    return first, number


def entries_of(row_ptr: Ints, rows: Ints, without: Ints | None = None) -> tuple[Ints, Ints]:
    """(offsets, entries) of some rows; without: an entry of each that is left out."""
    counts = row_ptr[rows + 1] - row_ptr[rows]
    ptr = offsets(counts)
    entries = np.arange(ptr[-1]) + np.repeat(row_ptr[rows] - ptr[:-1], counts)
    if without is None:
        return ptr, entries
    return ptr - np.arange(len(ptr)), entries[entries != np.repeat(without, counts)]


def listed(ptr: Ints, col: Ints, columns: int) -> Pattern:
    """A matrix of ones, row by row. Without gradients nobody asks for its transpose, which is then
    empty."""
    t_ptr = t_col = np.empty(0, dtype=np.int64)
    if torch.is_grad_enabled():
        rows = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
        small = col.astype(np.uint16) if columns <= 2**16 else col  # is sorted by its digits
        t_col = rows[np.argsort(small, kind="stable")]
        t_ptr = offsets(np.bincount(col, minlength=columns))
    return Pattern(*map(torch.from_numpy, (ptr, col, t_ptr, t_col)))


def offsets(counts: NDArray[Any]) -> Ints:
    """[n] -> [n+1]"""
    ptr = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=ptr[1:])
    return ptr
