"""Patterns read from slots: sorted, with the transpose and the way between the two."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given

from gmpool.graph.pairs import Slots
from gmpool.ops.row_ids import row_ids
from gmpool.ops.segment import Segments


@given(
    batch=st.lists(st.integers(0, 3), max_size=12),
    symmetric=st.booleans(),
    padded=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_the_pattern_has_the_filled_pairs(
    batch: list[int], symmetric: bool, padded: bool, seed: int
) -> None:
    M = len(batch)
    segments = Segments.from_batch(torch.tensor(batch, dtype=torch.long), M, None, 4)
    slots = Slots.of(segments, int(segments.counts.max()) if padded else None)
    generator = torch.Generator().manual_seed(seed)
    wanted = torch.rand(M, M, generator=generator) < 0.4
    wanted &= segments.batch[:, None] == segments.batch[None, :]
    if symmetric:
        wanted |= wanted.t().clone()
    row, col = wanted.nonzero(as_tuple=True)
    filled = torch.zeros(int(slots.first[-1]), dtype=torch.bool)
    filled[slots.slot(row, col)] = True

    pattern, full = slots.pattern(filled)
    assert torch.equal(pattern.rows, row)
    assert torch.equal(pattern.col, col)
    assert torch.equal(full, slots.slot(row, col))
    t_row = row_ids(pattern.t_rowptr, len(pattern.t_col))
    t_wanted = wanted.t().nonzero()
    assert torch.equal(torch.stack([t_row, pattern.t_col], 1), t_wanted)
    assert torch.equal(row[pattern.to_t], pattern.t_col)
    assert torch.equal(col[pattern.to_t], t_row)
    assert torch.equal(pattern.to_t[pattern.from_t], torch.arange(len(row)))
    if symmetric:
        assert pattern.t_col is pattern.col


@pytest.mark.parametrize("width", [None, 3])
def test_no_two_pairs_share_a_slot(width: int | None) -> None:
    segments = Segments.from_batch(torch.tensor([2, 0, 2, 1, 2, 0]), 6, None, 3)
    slots = Slots.of(segments, width)
    row, col = (segments.batch[:, None] == segments.batch).nonzero(as_tuple=True)
    taken = slots.slot(row, col)
    assert len(set(taken.tolist())) == len(row)
    assert int(slots.first[-1]) == (len(row) if width is None else 18)
