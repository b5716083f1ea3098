"""Intervals and sets hold the truth as often as they say, for any model and any errors."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from gmpool.errors import UserError
from gmpool.tasks.classify.conformal import in_sets, intervals, require_enough


def ones(n: int) -> np.ndarray:
    return np.zeros(n, dtype=np.int64)


@given(n=st.integers(9, 60), coverage=st.sampled_from([0.5, 0.8, 0.9]), seed=st.integers(0, 10**6))
def test_an_interval_reaches_as_far_as_so_many_errors(n: int, coverage: float, seed: int) -> None:
    """By the definition: half its length is the ⌈(n+1)·coverage⌉-th smallest error."""
    rng = np.random.default_rng(seed)
    errors, width = rng.exponential(1, n), rng.uniform(0.5, 2, (1, 4))
    value = rng.normal(0, 1, (1, 4))
    low, high = intervals(value, width, errors, ones(n), coverage)
    rank = int(np.ceil(round((n + 1) * coverage, 9)))
    half = np.sort(errors)[rank - 1] * width[0]
    np.testing.assert_allclose(low, value[0] - half)
    np.testing.assert_allclose(high, value[0] + half)


@given(n=st.integers(12, 40), members=st.integers(2, 4), seed=st.integers(0, 10**6))
def test_intervals_by_members_are_those_of_the_definition(n: int, members: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    errors, by = rng.exponential(1, n), rng.integers(0, members, n)
    value, width = rng.normal(0, 1, (members, 3)), np.ones((members, 3))
    low, high = intervals(value, width, errors, by, 0.8)
    rank = int(np.ceil(round((n + 1) * 0.8, 9)))
    for g in range(3):
        ends = value[by, g]
        assert low[g] == pytest.approx(-np.sort(-(ends - errors))[rank - 1])
        assert high[g] == pytest.approx(np.sort(ends + errors)[rank - 1])


def test_one_predictor_is_as_good_as_members_that_agree() -> None:
    rng = np.random.default_rng(0)
    errors, value = rng.exponential(1, 30), rng.normal(0, 1, 5)
    alone = intervals(value[None], np.ones((1, 5)), errors, ones(30), 0.9)
    agree = np.repeat(value[None], 3, 0)
    several = intervals(agree, np.ones((3, 5)), errors, rng.integers(0, 3, 30), 0.9)
    np.testing.assert_allclose(alone, several)


@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
def test_new_labels_are_inside_as_often_as_promised(coverage: float) -> None:
    """Over 400 draws of 99 held-out and 50 new labels, whatever the errors are like."""
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(400):
        errors = np.abs(rng.standard_t(2, 149)) * 3
        low, high = intervals(np.zeros((1, 1)), np.ones((1, 1)), errors[:99], ones(99), coverage)
        inside.append(np.mean(errors[99:] <= high[0]))
        assert low[0] == -high[0]
    assert np.mean(inside) == pytest.approx(coverage, abs=0.012)


@given(n=st.integers(9, 40), members=st.integers(1, 3), seed=st.integers(0, 10**6))
def test_sets_are_those_of_the_definition(n: int, members: int, seed: int) -> None:
    """A class is in when more than (1 - coverage)(n + 1) - 1 held-out labels fit no better."""
    rng = np.random.default_rng(seed)
    scores, by = rng.random(n).round(2), rng.integers(0, members, n)
    misfit = rng.random((members, 4, 3)).round(2)
    found = in_sets(misfit, scores, by, 0.8)
    for g in range(4):
        for c in range(3):
            worse = sum(scores[i] >= misfit[by[i], g, c] for i in range(n))
            assert found[g, c] == (worse + 1 > (1 - 0.8) * (n + 1))


@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
def test_sets_hold_the_true_class_as_often_as_promised(coverage: float) -> None:
    """Of a model that is half wrong."""
    rng = np.random.default_rng(0)
    held = []
    for _ in range(300):
        p = rng.dirichlet([0.5] * 4, 149)
        y = np.where(rng.random(149) < 0.5, p.argmax(1), rng.integers(0, 4, 149))
        misfit = 1 - p
        scores = misfit[np.arange(99), y[:99]]
        found = in_sets(misfit[None, 99:], scores, ones(99), coverage)
        held.append(found[np.arange(50), y[99:]].mean())
    assert np.mean(held) == pytest.approx(coverage, abs=0.015)


def test_gaps_count_for_nothing() -> None:
    errors = np.array([1.0, np.nan, 3.0, 2.0, np.nan] * 6)
    kept = errors[~np.isnan(errors)]
    args = np.zeros((1, 2)), np.ones((1, 2))
    found = intervals(*args, errors, ones(30), 0.8)
    np.testing.assert_allclose(found, intervals(*args, kept, ones(18), 0.8))


@pytest.mark.parametrize(("labels", "coverage"), [(9, 0.9), (19, 0.95), (4, 0.8), (1, 0.5)])
def test_just_enough_labels(labels: int, coverage: float) -> None:
    require_enough(coverage, np.array([labels]), ["pKa"])
    with pytest.raises(UserError, match=rf"pKa: {labels - 1} held-out labels promise .* at most"):
        require_enough(coverage, np.array([labels - 1]), ["pKa"])


@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.1, 90.0])
def test_a_coverage_that_is_none(coverage: float) -> None:
    with pytest.raises(UserError, match="between 0 and 1"):
        require_enough(coverage, np.array([100]), ["y"])
