"""Which nodes are within so many steps of each other."""

from __future__ import annotations

import torch
from torch import Tensor

from gmpool.graph.matrices import SparseMatrix
from gmpool.ops.sparse import Pattern


def reach(pattern: Pattern, hops: int) -> Pattern:
    """The pairs (i, j), j ≠ i, with a path of 1 … hops edges from j to i."""
    N = pattern.rowptr.shape[0] - 1
    pairs = pattern.rows * N + pattern.col  # a pair is one number, i·N + j
    newest = pairs
    for _ in range(hops - 1):
        newest = _one_step_further(newest, pattern, N)
        pairs = torch.cat([pairs, newest]).unique()
    row, col = pairs // N, pairs % N
    others = row != col
    made, _ = SparseMatrix.from_edge_index(torch.stack([col[others], row[others]]), N)
    return made.pattern


def _one_step_further(pairs: Tensor, pattern: Pattern, N: int) -> Tensor:
    """(i, k) for every pair (i, j) and edge k -> j."""
    row, middle = pairs // N, pairs % N
    rowptr = pattern.rowptr.long()
    first, many = rowptr[middle], rowptr[middle + 1] - rowptr[middle]
    ends = many.cumsum(0)
    total = int(ends[-1]) if ends.numel() else 0
    entry = torch.arange(total, device=row.device)
    entry = entry + (first - ends + many).repeat_interleave(many, output_size=total)
    return (row.repeat_interleave(many, output_size=total) * N + pattern.col[entry]).unique()
