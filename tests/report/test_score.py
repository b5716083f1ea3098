"""Which score of a run counts, and what is known of a line on a set."""

from __future__ import annotations

import pytest
from report_rows import CURVE, row

from gmpool.report.score import PARTS, Score, score_of


@pytest.mark.parametrize(("metric", "points", "best"), [
    ("accuracy", [50.0, 80.0, 75.0], 80.0),
    ("accuracy", [None, 40.0], 40.0),
    ("rmse", [0.5, 0.2, 0.3], 0.2),
    ("accuracy", [None], None),
    ("accuracy", [], 75.0),
])  # fmt: skip
def test_the_best_validation_score_of_any_epoch(
    metric: str, points: list[float | None], best: float | None
) -> None:
    """Of what was not fitted in epochs it is the one that there is."""
    mine = row(metric=metric, curve={**CURVE, "valid_metric": points})
    assert score_of(mine, "best-valid") == best
    assert (score_of(mine, "test"), score_of(mine, "valid")) == (80.0, 75.0)


def test_of_a_curve_with_gaps_the_best_is_not_known() -> None:
    assert score_of(row(curve={**CURVE, "every": 2}), "best-valid") is None


def test_folds_are_averaged_before_seeds_whatever_the_part() -> None:
    curves = [{**CURVE, "valid_metric": [60.0, best]} for best in (70.0, 90.0, 80.0, 84.0)]
    places = [(42, 1), (42, 2), (43, 1), (43, 2)]
    rows = [row(seed=s, fold=f, curve=c) for (s, f), c in zip(places, curves, strict=True)]
    assert Score.of(rows, "best-valid").scores == (80.0, 82.0)
    assert {part: Score.of(rows, part).mean for part in PARTS} == {
        "test": 80.0, "valid": 75.0, "best-valid": 81.0,
    }  # fmt: skip
