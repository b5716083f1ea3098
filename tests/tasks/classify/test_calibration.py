"""Calibration finds what was done to probabilities and deviations, and leaves few labels alone."""

from __future__ import annotations

import numpy as np
import pytest

from gmpool.tasks.classify.calibration import (
    answers,
    classes,
    deviation,
    fit_answers,
    fit_classes,
    fit_deviation,
    log_odds,
)


def sigmoid(z: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-z))


@pytest.mark.parametrize(("a", "b"), [(0.4, 0.0), (2.0, 0.7), (1.0, -1.2)])
def test_a_line_that_was_undone_is_found(a: float, b: float) -> None:
    """True log odds z are told as (z - b) / a."""
    rng = np.random.default_rng(0)
    z = rng.normal(0, 2, 20_000)
    y = (rng.random(len(z)) < sigmoid(z)).astype(float)
    told = sigmoid((z - b) / a)
    found = fit_answers(told, y)
    assert found == pytest.approx((a, b), abs=0.1)
    np.testing.assert_allclose(answers(told, *found), sigmoid(z), atol=0.03)


def test_calibration_of_answers_lowers_the_loss_and_keeps_the_order() -> None:
    rng = np.random.default_rng(1)
    z = rng.normal(0, 1, 500)
    y = (rng.random(500) < sigmoid(z)).astype(float)
    told = sigmoid(5 * z)  # far too sure

    def loss(p: np.ndarray) -> float:
        return float(-np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)))

    made = answers(told, *fit_answers(told, y))
    assert loss(made) < 0.8 * loss(told)
    assert (np.argsort(made) == np.argsort(told)).all()


@pytest.mark.parametrize("yes", [0, 3, 9])
def test_few_labels_of_a_kind_change_nothing(yes: int) -> None:
    y = np.zeros(200)
    y[:yes] = 1
    p = np.random.default_rng(0).random(200)
    assert fit_answers(p, y) == (1.0, 0.0)
    np.testing.assert_allclose(answers(p, 1.0, 0.0), p)


def test_certain_answers_stay_finite() -> None:
    p = np.array([0.0, 1.0] * 20)
    y = np.array([0.0, 1.0] * 19 + [1.0, 0.0])
    made = answers(p, *fit_answers(p, y))
    assert np.isfinite(made).all()
    assert np.isfinite(log_odds(p)).all()
    assert made[1] < 0.999  # one of twenty was wrong


def test_a_temperature_is_found() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(0, 2, (20_000, 4))
    true = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    y = np.array([rng.choice(4, p=row) for row in true])
    told = np.exp(3 * z) / np.exp(3 * z).sum(1, keepdims=True)
    a = fit_classes(told, y)
    assert a == pytest.approx(1 / 3, abs=0.02)
    made = classes(told, a)
    np.testing.assert_allclose(made.sum(1), 1)
    np.testing.assert_allclose(made, true, atol=0.02)
    assert fit_classes(told[:5], y[:5]) == 1.0


def test_the_deviation_of_one_member_is_the_size_of_its_errors() -> None:
    error = np.random.default_rng(0).normal(0, 0.7, 400)
    a, b = fit_deviation(error, np.zeros(400))
    assert a == 0
    assert b == pytest.approx(np.sqrt(np.mean(error**2)))


def test_deviations_follow_the_spread_where_errors_do() -> None:
    """σ² = 4 s² + 0.3²"""
    rng = np.random.default_rng(0)
    spread = rng.uniform(0, 2, 20_000)
    error = rng.normal(0, np.hypot(2 * spread, 0.3))
    a, b = fit_deviation(error, spread)
    assert (a, b) == pytest.approx((2.0, 0.3), rel=0.1)
    scaled = error / deviation(spread, a, b)
    assert np.std(scaled) == pytest.approx(1, abs=0.02)


def test_a_spread_that_says_nothing_counts_for_little() -> None:
    rng = np.random.default_rng(0)
    spread, error = rng.uniform(0, 1, 5_000), rng.normal(0, 1, 5_000)
    a, b = fit_deviation(error, spread)
    assert b == pytest.approx(1, abs=0.1)
    assert a < 0.4


def test_no_errors_and_no_labels() -> None:
    assert fit_deviation(np.zeros(0), np.zeros(0)) == (1.0, 0.0)
    a, b = fit_deviation(np.zeros(50), np.linspace(0, 1, 50))
    assert np.isfinite([a, b]).all()
