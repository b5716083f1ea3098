"""The image of a graph under a map of its nodes: equal pairs become one edge, loops none.

Sparse matrices of coarse graphs are made without a sort, with a slot for every pair of rows of a
graph: the coarse graphs of a pooling are small, so that a slot per pair costs less than sorting the
edges. The slots that are filled, read in order, are the sparse matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gmpool.graph.matrices import SparseMatrix
from gmpool.ops.row_ids import inverse, row_ids
from gmpool.ops.segment import Segments, segment_sum
from gmpool.ops.sparse import Pattern

# Slots per edge from which on sorting the edges is cheaper, and slots that never matter.
SLOTS_PER_EDGE, FEW_SLOTS = 32, 2**20


@dataclass(frozen=True)
class Slots:
    """Pair (i, j) has slot first[i] + local[j].

    first [M+1]: where the slots of row i begin; the last is the number of all.
    local [M]: the place of each row among those of its graph.
    """

    segments: Segments
    first: Tensor
    local: Tensor

    @classmethod
    def of(cls, segments: Segments, width: int | None = None) -> Slots:
        """`width` slots for each row; without it as many as its graph has rows."""
        batch, order, ptr = segments.batch, segments.order, segments.ptr
        local = inverse(order) - ptr.index_select(0, batch)
        if width is None:
            each = segments.counts.index_select(0, batch)
            first = torch.cat([each.new_zeros(1), each.cumsum(0)])
        else:
            first = width * torch.arange(batch.shape[0] + 1, device=batch.device)
        return cls(segments, first, local)

    def slot(self, row: Tensor, col: Tensor) -> Tensor:
        return self.first.index_select(0, row) + self.local.index_select(0, col)

    def pattern(self, filled: Tensor) -> tuple[Pattern, Tensor]:
        """The matrix with the filled slots, and their numbers. bool [slots] -> (…, [E'])"""
        before, rowptr, row, col, slots = self._read(filled)
        back = self.slot(col, row)  # of the pair turned round
        to_t = before.index_select(0, back)
        if bool(filled.index_select(0, back).all()):
            return Pattern(rowptr, col, rowptr, col, to_t, to_t), slots
        t_filled = torch.zeros_like(filled).index_fill_(0, back, True)
        t_before, t_rowptr, t_row, t_col, _ = self._read(t_filled)
        to_t = before.index_select(0, self.slot(t_col, t_row))
        from_t = t_before.index_select(0, back)
        return Pattern(rowptr, col, t_rowptr, t_col, to_t, from_t), slots

    def _read(self, filled: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """(filled slots before each slot, rowptr, row, col, slots)"""
        before = torch.zeros(filled.shape[0] + 1, dtype=torch.long, device=filled.device)
        torch.cumsum(filled, 0, out=before[1:])
        slots = filled.nonzero()[:, 0]
        rowptr = before.index_select(0, self.first)
        row = row_ids(rowptr, slots.shape[0])
        segments = self.segments
        base = segments.ptr.index_select(0, segments.batch) - self.first[:-1]
        col = segments.order.index_select(0, slots + base.index_select(0, row))
        return before, rowptr, row, col, slots


def image(adjacency: SparseMatrix, cluster: Tensor, rows: Segments) -> SparseMatrix:
    """Edges between the M clusters of N nodes. cluster [N] in 0 … M-1, rows: the M rows' graphs.

    Weights of edges with the same image are summed; without weights they count once.
    """
    source = cluster.index_select(0, adjacency.pattern.col)
    target = cluster.index_select(0, adjacency.pattern.rows)
    pairs = int(rows.counts.square().sum())
    if pairs > FEW_SLOTS + SLOTS_PER_EDGE * source.shape[0]:
        pattern, entry = _by_sort(source, target, rows.batch.shape[0])
    else:
        pattern, entry = _by_slots(source, target, rows, pairs)
    if adjacency.weight is None:
        return SparseMatrix(pattern, None)
    no_loop = (source != target).nonzero()[:, 0]
    weight, entry = (t.index_select(0, no_loop) for t in (adjacency.weight, entry))
    parts = Segments.from_batch(entry, entry.shape[0], entry.device, pattern.col.shape[0])
    return SparseMatrix(pattern, segment_sum(weight[:, None], parts)[:, 0])


def _by_slots(source: Tensor, target: Tensor, rows: Segments, pairs: int) -> tuple[Pattern, Tensor]:
    """The pattern, and the entry that each edge becomes (any for a loop)."""
    slots = Slots.of(rows)
    # Loops go to a spare slot, which is not read.
    slot = slots.slot(target, source).masked_fill_(source == target, pairs)
    filled = torch.zeros(pairs + 1, dtype=torch.bool, device=slot.device)
    pattern, full = slots.pattern(filled.index_fill_(0, slot, True)[:-1])
    number = torch.arange(full.shape[0], device=full.device)
    entry_of = torch.zeros_like(filled, dtype=torch.long).index_copy_(0, full, number)
    return pattern, entry_of.index_select(0, slot)


def _by_sort(source: Tensor, target: Tensor, num_rows: int) -> tuple[Pattern, Tensor]:
    """Likewise."""
    loop = source == target
    key = (target * num_rows + source).masked_fill_(loop, num_rows**2)
    keys, entry = torch.unique(key, return_inverse=True)
    keys = keys[: keys.shape[0] - int(loop.any())]
    ends = torch.stack([keys % num_rows, keys // num_rows])
    return SparseMatrix.from_edge_index(ends, num_rows)[0].pattern, entry
