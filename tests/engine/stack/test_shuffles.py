"""The orders in which replicas see their graphs."""

from __future__ import annotations

import torch
from torch import Tensor

from gmpool.engine.stack.shuffles import Shuffles, in_batches


def test_shuffles_are_those_of_each_alone() -> None:
    parts: list[Tensor] = [torch.arange(5), torch.arange(10, 21)]
    full, last = Shuffles(parts, [4, 5], 4).draw(3, empty=99)
    assert full.shape == (2, 6, 4)
    assert last.shape == (2, 3, 3)
    for r, part in enumerate(parts):
        generator = torch.Generator().manual_seed(4 + r)
        for epoch in range(3):
            order = part[torch.randperm(len(part), generator=generator)]
            drawn = torch.cat([full[r, 2 * epoch], full[r, 2 * epoch + 1], last[r, epoch]])
            assert torch.equal(drawn[drawn != 99], order)


def test_who_is_left_draws_on_as_before() -> None:
    parts = [torch.arange(5), torch.arange(10, 21), torch.arange(3)]
    whole, less = (Shuffles(parts, [4, 5, 6], 4) for _ in range(2))
    assert whole.steps.tolist() == [2, 3, 1]
    for shuffles in (whole, less):
        shuffles.draw(2, empty=99)
    less.keep([1])
    assert less.steps.tolist() == [3]
    for mine, theirs in zip(less.draw(2, empty=99), whole.draw(2, empty=99), strict=True):
        assert torch.equal(mine[0], theirs[1])


def test_a_fixed_part_in_batches_of_equal_size() -> None:
    rows = in_batches([torch.arange(7), torch.arange(3)], 3, empty=99)
    assert rows.shape == (2, 3, 3)
    assert rows.flatten(1).tolist() == [
        [0, 1, 2, 3, 4, 5, 6, 99, 99], [0, 1, 2, 99, 99, 99, 99, 99, 99]
    ]  # fmt: skip
    assert in_batches([torch.arange(8)], 7, empty=99).shape == (1, 2, 4), "no batch is a small rest"
