"""Batch vectors, and graphs of one size, as segments."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings
from torch.autograd import gradcheck, gradgradcheck

from gmpool.errors import UserError
from gmpool.ops.segment import (
    Segments,
    segment_gather,
    segment_max,
    segment_mean,
    segment_softmax,
    segment_sum,
)
from gmpool.ops.segment.reference import segment_reference

UNSORTED = torch.tensor([2, 0, 0, 2, 4, 2, 0])


def test_batch_is_checked() -> None:
    with pytest.raises(UserError, match=r"batch holds graph 4 .* batch_size is 3"):
        Segments.from_batch(UNSORTED, 7, None, 3)
    with pytest.raises(UserError, match=r"one entry per row, shape \(5,\), got \(7,\)"):
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
    assert segments.rows_each == 2
    assert segments.counts.tolist() == [2, 2, 2]
    assert segments.batch.tolist() == [0, 0, 1, 1, 2, 2]
    assert segments.order.tolist() == [0, 1, 2, 3, 4, 5]
    assert segments.ptr.tolist() == [0, 2, 4, 6]
    assert segments.ptr is segments.ptr, "made once"
    assert segments.with_rows(5).real is real
    assert Segments.from_batch(segments, 6) is segments


def test_sizes_of_their_own_are_not_one_size() -> None:
    segments = Segments.from_batch(UNSORTED, 7)
    assert segments.rows_each is None
    assert segments.counts.tolist() == [3, 0, 3, 0, 1]
    after = segments.with_rows(4)
    assert (after.num_graphs, after.rows_each, after.device) == (5, 4, segments.device)


def test_the_mean_is_over_graphs_that_count() -> None:
    values = torch.tensor([1.0, 3.0, 100.0])
    assert Segments.uniform(3, 1).mean_over_graphs(values) == values.mean()
    assert Segments.uniform(3, 1, real=torch.tensor([1, 1, 0])).mean_over_graphs(values) == 2.0


REDUCTIONS = {
    "sum": segment_sum,
    "mean": segment_mean,
    "max": segment_max,
    "softmax": segment_softmax,
}
UNSORTED = torch.tensor([2, 0, 0, 2, 4, 2, 0])


def segments_of(batch: torch.Tensor, size: int = 6) -> Segments:
    return Segments.from_batch(batch, len(batch), None, size)


@settings(deadline=None)
@given(
    batch=st.lists(st.integers(0, 5), max_size=20),
    name=st.sampled_from(sorted(REDUCTIONS)),
    seed=st.integers(0, 1000),
)
def test_equal_to_a_loop_over_graphs(batch: list[int], name: str, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    segments = segments_of(torch.tensor(batch, dtype=torch.long))
    x = torch.randn(len(batch), 3, dtype=torch.float64, generator=generator)
    found = REDUCTIONS[name](x, segments)
    torch.testing.assert_close(found, segment_reference(x, segments, name))


@settings(deadline=None)
@given(
    num_graphs=st.integers(1, 4), size=st.integers(0, 4), name=st.sampled_from(sorted(REDUCTIONS))
)
def test_graphs_of_one_size_are_graphs(num_graphs: int, size: int, name: str) -> None:
    x = torch.randn(num_graphs * size, 3, dtype=torch.float64)
    equal = Segments.uniform(num_graphs, size)
    plain = Segments(equal.batch, equal.order, equal.ptr)
    found = REDUCTIONS[name](x, equal)
    torch.testing.assert_close(found, segment_reference(x, plain, name).view_as(found))
    assert torch.equal(equal.counts, plain.counts)
    assert equal.num_graphs == plain.num_graphs
    g = torch.randn(num_graphs, 3, dtype=torch.float64)
    assert torch.equal(segment_gather(g, equal), segment_gather(g, plain))


def test_a_sum_over_graphs_of_one_size_makes_no_index() -> None:
    segments = segments_of(UNSORTED).with_rows(2)
    assert segments.rows_each == 2
    x = torch.randn(12, 2, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: segment_sum(x, segments), x)
    assert not segments._index
    assert segments.with_rows(3).num_graphs == 6
    assert not segments._index


@pytest.mark.parametrize("name", sorted(REDUCTIONS))
def test_derivatives_of_both_orders(name: str) -> None:
    torch.manual_seed(0)
    segments = segments_of(UNSORTED)
    x = torch.randn(7, 2, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: REDUCTIONS[name](x, segments), x)
    assert gradgradcheck(lambda x: REDUCTIONS[name](x, segments), x)


def test_tied_maxima_share_the_gradient() -> None:
    x = torch.tensor([[1.0], [3.0], [3.0], [2.0]], requires_grad=True)
    segment_max(x, segments_of(torch.tensor([0, 0, 0, 1]), 2)).sum().backward()
    assert x.grad[:, 0].tolist() == [0.0, 0.5, 0.5, 1.0]


def test_softmax_is_stable_and_sums_to_one() -> None:
    segments = segments_of(UNSORTED)
    a = segment_softmax(torch.full((7, 1), 1e4), segments)
    assert torch.isfinite(a).all()
    assert segment_sum(a, segments)[:, 0].tolist() == pytest.approx([1, 0, 1, 0, 1, 0])


def test_gather_is_the_transpose_of_sum() -> None:
    segments = segments_of(UNSORTED)
    g = torch.randn(6, 2, 3)
    assert torch.equal(segment_gather(g, segments), g[UNSORTED])


@pytest.mark.parametrize("name", sorted(REDUCTIONS))
def test_replicas_with_other_batches_each(name: str) -> None:
    torch.manual_seed(0)
    x = torch.randn(4, 7, 3, dtype=torch.float64, requires_grad=True)
    batches = torch.randint(0, 6, (4, 7))

    def one(x: torch.Tensor, batch: torch.Tensor) -> torch.Tensor:
        return REDUCTIONS[name](x, Segments.from_batch(batch, 7, None, 6))

    stacked = torch.vmap(one)(x, batches)
    alone = torch.stack([one(*pair) for pair in zip(x, batches, strict=True)])
    torch.testing.assert_close(stacked, alone)
    probe = torch.randn_like(alone)
    (a,) = torch.autograd.grad(stacked, x, probe)
    (b,) = torch.autograd.grad(alone, x, probe)
    torch.testing.assert_close(a, b)
