"""Bins of reliability and the shares inside intervals, against scikit-learn, loops and theory."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from gmpool.report.calibration_error import (
    PROMISED,
    calibration_error,
    reliability,
    share_inside,
)


def drawn(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    p = random.random(n)
    return p, random.random(n) < p**2


@pytest.mark.parametrize("n", [100, 1000])
def test_bins_are_those_of_scikit_learn(n: int) -> None:
    p, yes = drawn(n)
    true, said = calibration_curve(yes, p, n_bins=10, strategy="quantile")
    found = reliability(p, yes)
    np.testing.assert_allclose(found.said, said)
    np.testing.assert_allclose(found.true, true)
    assert found.graphs.tolist() == [n // 10] * 10
    assert found.error == pytest.approx(np.abs(true - said).mean())


def test_equal_probabilities_are_in_one_bin() -> None:
    p = np.array([0.2] * 30 + [0.7] * 70)
    yes = np.arange(100) % 2 == 0
    found = reliability(p, yes)
    assert found.graphs.tolist() == [30, 70]
    np.testing.assert_allclose(found.said, [0.2, 0.7])
    assert calibration_error(p, yes) == pytest.approx(0.3 * 0.3 + 0.7 * 0.2)
    order = np.random.default_rng(0).permutation(100)
    assert calibration_error(p[order], yes[order]) == pytest.approx(found.error)


@pytest.mark.parametrize("n", [1, 2, 7, 13, 49])
def test_few_graphs_have_few_bins(n: int) -> None:
    found = reliability(*drawn(n))
    assert found.graphs.sum() == n
    assert len(found.graphs) == max(1, n // 5)


def test_what_is_calibrated_has_a_small_error() -> None:
    random = np.random.default_rng(3)
    p = random.random(20_000)
    assert calibration_error(p, random.random(20_000) < p) < 0.015
    assert calibration_error(p, random.random(20_000) < p**2) > 0.1


def test_normal_errors_lie_inside_as_often_as_is_promised() -> None:
    random = np.random.default_rng(4)
    deviation = random.random(20_000) + 0.1
    error = random.normal(size=20_000) * deviation
    np.testing.assert_allclose(share_inside(error, deviation), PROMISED, atol=0.015)
    assert (share_inside(error, deviation / 2) < PROMISED).all()
    few = np.array([1.9, -2.1]), np.ones(2)
    assert share_inside(*few, np.array([0.95])).tolist() == [0.5]
