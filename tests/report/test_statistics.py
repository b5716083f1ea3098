from __future__ import annotations

import math

import pytest
from scipy import stats

from gmpool.report.paper import _tables
from gmpool.report.statistics import (
    LEVEL,
    UNTESTED,
    Sample,
    average_ranks,
    best_or_comparable,
    cliques,
    critical_difference,
    friedman,
    holm,
    interval,
    welch,
)


def test_welch_by_hand() -> None:
    """Means 2 and 5, variances 1 and 4, n = 3: t = 3 / sqrt(5/3), df = (5/3)² / (1/18 + 16/18)."""
    a, b = Sample.of([1.0, 2.0, 3.0]), Sample.of([3.0, 5.0, 7.0])
    assert (a, b) == ((2.0, 1.0, 3), (5.0, 2.0, 3))
    expected = 2 * stats.t.sf(3 / math.sqrt(5 / 3), (25 / 9) / (17 / 18))
    assert welch(a, b) == pytest.approx(expected)
    assert welch(b, a) == pytest.approx(expected)


def test_welch_of_scores_without_spread() -> None:
    assert welch(Sample(80.0, 0.0, 3), Sample(80.0, 0.0, 3)) == 1.0
    assert welch(Sample(80.0, 0.0, 3), Sample(81.0, 0.0, 3)) == 0.0


def test_interval_by_hand() -> None:
    """n = 4, mean 5, variance 8/3, and t of 3 degrees of freedom at 0.975 is 3.1824."""
    reach = 3.1824 * math.sqrt(8 / 3) / 2
    assert interval([3.0, 7.0, 5.0, 5.0]) == pytest.approx((5 - reach, 5 + reach), abs=1e-3)
    assert interval([5.0]) is None


def test_holm_worked_example() -> None:
    """0.005 · 4, 0.01 · 3, 0.03 · 2, and 0.04 · 1, which may not fall below the one before."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


@pytest.mark.parametrize("part", ["test", "valid"])
def test_two_sided_welch_gives_every_bold_number_of_the_paper(part: str) -> None:
    table = _tables()[part]
    for dataset in _tables()["datasets"]:
        here = {name: values[dataset] for name, values in table.items() if dataset in values}
        best = max(here, key=lambda name: here[name][0])
        for name, (mean, std, bold) in here.items():
            p = welch(Sample(*here[best][:2], 10), Sample(mean, std, 10))
            assert (name == best or p > LEVEL) == bold, (dataset, name, p)


def test_best_or_comparable_and_the_correction() -> None:
    samples = {
        "best": [10.0, 11.0, 12.0],
        "near": [9.0, 10.0, 11.0],
        "between": [8.2, 8.4, 8.6],  # p = 0.041: worse, but not after correction
        "far": [1.0, 2.0, 3.0],
    }
    found = best_or_comparable(samples, higher=True)
    assert [v.comparable for v in found.values()] == [True, True, False, False]
    assert [v.comparable_corrected for v in found.values()] == [True, True, True, False]
    assert (found["best"].p, found["best"].p_corrected) == (None, None)
    p, corrected = found["between"].p, found["between"].p_corrected
    assert p is not None
    assert p < LEVEL
    assert corrected == pytest.approx(2 * p), "the second of three tests"


def test_lower_may_be_better() -> None:
    found = best_or_comparable({"a": [1.0, 1.1], "b": [9.0, 9.1]}, higher=False)
    assert [v.comparable for v in found.values()] == [True, False]


def test_one_seed_is_not_tested() -> None:
    found = best_or_comparable({"a": [80.0], "b": [79.0, 79.5], "c": [80.0]}, higher=True)
    assert [tuple(v) for v in found.values()] == [
        (True, True, None, None), (False, False, None, None), (True, True, None, None),
    ]  # fmt: skip
    assert best_or_comparable({}, higher=True) == {}


def test_few_scores_are_not_compared_with_many() -> None:
    """They neither win by chance nor pass for comparable because nothing can be shown."""
    many, fewer = [80.0 + 0.1 * k for k in range(10)], [80.0 + 0.1 * k for k in range(5)]
    samples = {"lucky": [81.0, 81.1], "unlucky": [70.0, 77.0, 80.0, 81.0], "half": fewer, "a": many}
    found = best_or_comparable(samples, higher=True)
    assert found["lucky"] == found["unlucky"] == UNTESTED
    assert found["a"].comparable
    assert found["half"].p is not None
    found = best_or_comparable({"a": many, "b": [70.0, 70.1]}, higher=True)
    assert found["b"].p is not None, "who is alone with many is compared with few"


def test_one_score_is_not_compared_with_several() -> None:
    samples = {"lucky": [90.0], "a": [80.0, 80.2, 80.1], "b": [70.0, 70.1, 69.9]}
    found = best_or_comparable(samples, higher=True)
    assert found["lucky"] == UNTESTED
    assert found["a"].comparable
    assert not found["b"].comparable
    assert found["b"].p is not None


def test_average_ranks_with_ties() -> None:
    scores = [{"a": 9.0, "b": 7.0, "c": 7.0}, {"a": 1.0, "b": 2.0, "c": 3.0}]
    assert average_ranks(scores) == {"a": 2.0, "b": 2.25, "c": 1.75}
    assert average_ranks([]) == {}


def test_friedman_by_hand() -> None:
    """k = 3, N = 4, rank sums 4, 8, 12: 12 / (4·3·4) · (16 + 64 + 144) - 3·4·4 = 8, df = 2."""
    scores = [{"a": 3.0, "b": 2.0, "c": 1.0}] * 4
    assert friedman(scores) == pytest.approx(math.exp(-8 / 2))
    assert friedman([{"a": 1.0, "b": 1.0, "c": 1.0}] * 4) == 1.0
    assert friedman(scores[:1]) is None
    assert friedman([{"a": 3.0, "b": 2.0}] * 4) is None
    assert friedman([]) is None


def test_critical_difference_of_demsar() -> None:
    """Section 3.2.4 of the paper: 2.569 · sqrt(4 · 5 / (6 · 14)) = 1.25."""
    assert critical_difference(4, 14) == pytest.approx(2.569 * math.sqrt(20 / 84), abs=1e-3)
    assert critical_difference(10, 6) == pytest.approx(3.164 * math.sqrt(110 / 36), abs=1e-3)


def test_groups_that_do_not_differ() -> None:
    ranks = {"d": 4.0, "a": 1.0, "b": 1.9, "c": 2.5, "e": 9.0}
    assert cliques(ranks, 1.6) == [["a", "b", "c"], ["c", "d"]]
    assert cliques(ranks, 0.5) == []
    assert cliques(ranks, 99) == [["a", "b", "c", "d", "e"]]
