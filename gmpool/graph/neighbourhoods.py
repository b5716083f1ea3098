"""Wider neighbourhoods: those that hold the node itself, A + L with L a loop of weight 1 where
none is; and those of nodes within so many steps of each other."""

import torch
from torch import Tensor

from gmpool.graph.matrices import SparseMatrix
from gmpool.ops.row_ids import inverse, row_ids
from gmpool.ops.sparse import Pattern


def with_loops(adjacency: SparseMatrix) -> SparseMatrix:
    """Missing loops come first in their rows. Nothing is sorted."""
    p, weight = adjacency.pattern, adjacency.weight
    assert p.to_t is not None
    N, rows = p.rowptr.shape[0] - 1, p.rows
    has_loop = p.col.masked_select(rows == p.col).long()
    lacks = torch.ones(N, dtype=torch.long, device=rows.device).index_fill_(0, has_loop, 0)
    added = lacks.cumsum(0)  # loops added up to each row, its own counted
    node = lacks.nonzero()[:, 0]

    rowptr, place, loop = _moved(p.rowptr, rows, added, node)
    col = _joined(p.col.long(), place, node, loop)
    if p.t_col is p.col:
        t_rowptr, t_place, t_loop, t_col = rowptr, place, loop, col
    else:
        t_rows = row_ids(p.t_rowptr, p.t_col.shape[0])
        t_rowptr, t_place, t_loop = _moved(p.t_rowptr, t_rows, added, node)
        t_col = _joined(p.t_col.long(), t_place, node, t_loop)
    to_t = _joined(place.index_select(0, p.to_t), t_place, loop, t_loop)
    pattern = Pattern(rowptr, col, t_rowptr, t_col, to_t, inverse(to_t))
    if weight is not None:
        weight = _joined(weight, place, weight.new_ones(node.shape[0]), loop)
    return SparseMatrix(pattern, weight)


def _moved(
    rowptr: Tensor, rows: Tensor, added: Tensor, node: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """(new rowptr, where each old entry goes, where each new loop goes)"""
    place = torch.arange(rows.shape[0], device=rows.device) + added.index_select(0, rows)
    rowptr = rowptr + torch.cat([added.new_zeros(1), added])
    return rowptr, place, rowptr.index_select(0, node)


def _joined(old: Tensor, place: Tensor, new: Tensor, loop: Tensor) -> Tensor:
    both = old.new_empty(old.shape[0] + new.shape[0])
    return both.index_copy(0, place, old).index_copy(0, loop, new)


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
