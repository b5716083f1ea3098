"""Batch vectors, and graphs of one size, as segments."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest
import torch

from gmpool.errors import UserError
from gmpool.ops.segment import Segments

UNSORTED = torch.tensor([2, 0, 0, 2, 4, 2, 0])


def test_batch_is_checked() -> None:
    with pytest.raises(UserError, match=r"batch holds graph 4 .* batch_size is 3"):
        Segments.from_batch(UNSORTED, 7, None, 3)
    with pytest.raises(UserError, match=r"one entry per node, shape \(5,\), got \(7,\)"):
        Segments.from_batch(UNSORTED, 5, None, None)
    assert Segments.from_batch(UNSORTED, 7, None, None).num_graphs == 5
    assert Segments.from_batch(None, 3, None, None).counts.tolist() == [3]


@pytest.mark.parametrize("make", [lambda b: b.int(), lambda b: b.repeat_interleave(2)[::2]])
def test_short_and_strided_batch_vectors(make: Callable[[torch.Tensor], torch.Tensor]) -> None:
    for batch in (UNSORTED, UNSORTED.sort()[0]):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = Segments.from_batch(make(batch), len(batch))
        expected = Segments.from_batch(batch, len(batch))
        assert torch.equal(found.order, expected.order)
        assert torch.equal(found.ptr, expected.ptr)


def test_graphs_of_one_size_make_their_index_when_it_is_read() -> None:
    real = torch.tensor([1, 1, 0])
    segments = Segments.uniform(3, 2, real=real)
    assert isinstance(segments, Segments)
    assert segments.size == 2
    assert segments.counts.tolist() == [2, 2, 2]
    assert segments.batch.tolist() == [0, 0, 1, 1, 2, 2]
    assert segments.order.tolist() == [0, 1, 2, 3, 4, 5]
    assert segments.ptr.tolist() == [0, 2, 4, 6]
    assert segments.ptr is segments.ptr, "made once"
    assert segments.with_rows(5).real is real
    assert Segments.from_batch(segments, 6) is segments


def test_sizes_of_their_own_are_not_one_size() -> None:
    segments = Segments.from_batch(UNSORTED, 7)
    assert segments.size is None
    assert segments.counts.tolist() == [3, 0, 3, 0, 1]
    after = segments.with_rows(4)
    assert (after.num_graphs, after.size, after.device) == (5, 4, segments.device)


def test_the_mean_is_over_graphs_that_count() -> None:
    values = torch.tensor([1.0, 3.0, 100.0])
    assert Segments.uniform(3, 1).mean_over_graphs(values) == values.mean()
    assert Segments.uniform(3, 1, real=torch.tensor([1, 1, 0])).mean_over_graphs(values) == 2.0
