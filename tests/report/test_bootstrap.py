"""Intervals from draws of graphs: always the same, and as often right as they say."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from gmpool.report.bootstrap import FEWEST, Ids, bootstrap_intervals


def mean_of(values: np.ndarray) -> dict[str, tuple[float, float]]:
    return bootstrap_intervals(lambda ids: {"mean": values[ids].mean()}, len(values), draws=300)


def test_the_same_draws_each_time() -> None:
    values = np.random.default_rng(0).normal(size=50)
    assert mean_of(values) == mean_of(values)
    other = bootstrap_intervals(lambda ids: {"mean": values[ids].mean()}, 50, draws=300, seed=1)
    assert other != mean_of(values)


def test_they_hold_a_mean_that_is_known_as_often_as_they_say() -> None:
    random = np.random.default_rng(1)
    found = [mean_of(random.normal(3.0, 2.0, size=60))["mean"] for _ in range(150)]
    held = np.mean([low < 3.0 < high for low, high in found])
    assert 0.88 <= held <= 0.99
    # As wide as the t-interval, nearly.
    assert np.mean([high - low for low, high in found]) == pytest.approx(
        2 * 1.96 * 2 / 60**0.5, rel=0.1
    )


def test_what_is_not_defined_in_a_draw_does_not_count() -> None:
    def scores(ids: Ids) -> Mapping[str, float | None]:
        first = (ids == 0).any()  # in 63 % of draws
        return {"often": 1.0 if first else None, "never": None, "nan": float("nan"),
                "seldom": None if first else 2.0}  # fmt: skip

    assert bootstrap_intervals(scores, 20) == {"often": (1.0, 1.0)}


def test_of_few_graphs_nothing_is_said() -> None:
    assert bootstrap_intervals(lambda ids: {"one": 1.0}, FEWEST - 1) == {}
    assert bootstrap_intervals(lambda ids: {"one": 1.0}, FEWEST, draws=10) == {"one": (1.0, 1.0)}
