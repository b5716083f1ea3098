"""Probabilities and deviations that mean what they say, fitted to labels that were held out.

    yes/no    p' = σ(a · logit p + b)          Platt's line, of each label
    classes   p'_c ∝ p_c^a                      a temperature 1/a
    numbers   σ'² = a² s² + b²                  s the deviation between members, of each label
a and b are fitted by the likelihood of the labels. Of yes/no and classes they are held to a = 1 and
b = 0 as by one label more, so that few labels change little.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Array = NDArray[np.float64]
_FEW = 10
"""Labels of a kind, under which nothing is fitted."""
_TINY = 1e-12


def log_odds(p: Array) -> Array:
    p = p.clip(_TINY, 1 - _TINY)
    return np.asarray(np.log(p) - np.log1p(-p))


def fit_answers(p: Array, y: Array) -> tuple[float, float]:
    """(a, b) for one label of yes (1) and no (0). p, y [n]"""
    if min((y == 1).sum(), (y == 0).sum()) < _FEW:
        return 1.0, 0.0
    odds = log_odds(p)

    def cost(ab: Array) -> float:
        z = ab[0] * odds + ab[1]
        return float((np.logaddexp(0, z) - y * z).sum()) + _held(ab)

    return _best(cost)


def answers(p: Array, a: float, b: float) -> Array:
    return np.asarray(1 / (1 + np.exp(-(a * log_odds(p) + b))))


def fit_classes(p: Array, y: NDArray[np.int64]) -> float:
    """a for classes. p [n, C], y [n]"""
    if len(y) < _FEW:
        return 1.0
    logs = np.log(p.clip(_TINY))
    mine = logs[np.arange(len(y)), y]

    def cost(ab: Array) -> float:
        return float((_log_sum(ab[0] * logs) - ab[0] * mine).sum()) + _held(ab)

    return _best(cost)[0]


def classes(p: Array, a: float) -> Array:
    logs = a * np.log(p.clip(_TINY))
    return np.asarray(np.exp(logs - _log_sum(logs)[..., None]))


def fit_deviation(error: Array, spread: Array) -> tuple[float, float]:
    """(a, b) of one label, of errors of predictions and deviations between members, [n] each."""
    if not len(error):
        return 1.0, 0.0
    size = max(float(np.sqrt(np.mean(error**2))), _TINY)
    if len(error) < _FEW or not spread.any():
        return 0.0, size

    def cost(logs: Array) -> float:
        a, b = np.exp(logs)
        variance = (a * spread) ** 2 + (b * size) ** 2
        return float((np.log(variance) + error**2 / variance).mean())

    starts = [np.log([a, b]) for a, b in ((1.0, 1.0), (1.0, 0.1), (0.1, 1.0))]
    found = min(
        (minimize(cost, start, method="L-BFGS-B", bounds=[(-7, 5), (-7, 2)]) for start in starts),
        key=lambda each: each.fun,
    )
    a, b = np.exp(found.x)
    return float(a), float(b * size)


def deviation(spread: Array, a: float, b: float) -> Array:
    return np.asarray(np.hypot(a * spread, b))


def _held(ab: Array) -> float:
    return float((ab[0] - 1) ** 2 + ab[1] ** 2) / 2


def _best(cost: Callable[[Array], float]) -> tuple[float, float]:
    """a is never negative: calibration changes no order."""
    found = minimize(cost, np.array([1.0, 0.0]), method="L-BFGS-B", bounds=[(1e-3, 1e3), (-50, 50)])
    return float(found.x[0]), float(found.x[1])


def _log_sum(logs: Array) -> Array:
    top = logs.max(-1, keepdims=True)
    return np.asarray(top[..., 0] + np.log(np.exp(logs - top).sum(-1)))
