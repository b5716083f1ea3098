"""Sets to reconstruct: those with a name, and the split of any."""

from __future__ import annotations

import pytest
from small_graphs import points

from gmpool.data import Dataset
from gmpool.errors import UserError
from gmpool.tasks.reconstruct.data import named_dataset, reconstruct_split


def test_the_split_of_a_set_without_one() -> None:
    one = Dataset("one", points(1), (), None)
    split = reconstruct_split(one)
    assert split.train.tolist() == split.valid.tolist() == split.test.tolist() == [0]
    with pytest.raises(UserError, match="has 2 graphs, too few"):
        reconstruct_split(Dataset("two", points(2), (), None))
    many = reconstruct_split(Dataset("many", points(20), (), None))
    assert [len(part) for part in (many.train, many.valid, many.test)] == [16, 2, 2]


def test_a_set_that_is_not_at_hand_is_named(caplog: pytest.LogCaptureFixture) -> None:
    assert named_dataset("ZINC") is None
    assert "ZINC is not at hand" in caplog.text
    assert named_dataset("somebody's own") is None
    ring = named_dataset("ring")
    assert ring is not None
    assert ring.graphs.num_graphs == 1
