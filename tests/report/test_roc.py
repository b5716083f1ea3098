from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import (
    average_precision_score,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

from gmpool.report.roc import (
    area,
    average_precision,
    precision_recall_points,
    roc_points,
    thresholds,
)


@pytest.mark.parametrize("values", [2, 5, 1000])
def test_the_curve_and_its_area_are_those_of_scikit_learn(values: int) -> None:
    draw = np.random.default_rng(values)
    score, yes = draw.integers(values, size=60).astype(float), draw.random(60) < 0.3
    false, found = roc_points(*thresholds(score, yes))
    x, y, _ = roc_curve(yes, score, drop_intermediate=False)
    np.testing.assert_allclose([[0, *false], [0, *found]], [x, y])
    assert area(false, found) == pytest.approx(roc_auc_score(yes, score))


def test_equal_scores_are_one_threshold() -> None:
    said, hits = thresholds(np.array([1.0, 2.0, 1.0]), np.array([True, True, False]))
    assert (said.tolist(), hits.tolist()) == ([1, 3], [1, 2])


@pytest.mark.parametrize("values", [2, 5, 1000])
def test_precision_and_recall_are_those_of_scikit_learn(values: int) -> None:
    draw = np.random.default_rng(values)
    score, yes = draw.integers(values, size=60).astype(float), draw.random(60) < 0.3
    found, precision = precision_recall_points(*thresholds(score, yes))
    theirs, recall, _ = precision_recall_curve(yes, score)  # from the last threshold to a made-up 0
    np.testing.assert_allclose([found[::-1], precision[::-1]], [recall[:-1], theirs[:-1]])
    expected = average_precision_score(yes, score)
    assert average_precision(*thresholds(score, yes)) == pytest.approx(expected)
