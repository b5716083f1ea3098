"""Sparse matrices of coarse graphs, made without a sort: a slot for every pair of rows of a graph.

The coarse graphs of a pooling are small, so that a slot per pair costs less than sorting the edges:
the slots that are filled, read in order, are the sparse matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gmpool.ops.row_ids import inverse, row_ids
from gmpool.ops.segment import Segments
from gmpool.ops.sparse import Pattern


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
