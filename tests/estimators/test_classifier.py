"""Scores of classes and of yes/no labels, with gaps and weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from gmpool import GraphClassifier
from gmpool.errors import DataError

SMALL: dict[str, Any] = {
    "method": "mean", "members": 1, "epochs": 1, "hidden_dim": 4, "n_jobs": 1, "validation": 0.3,
    "random_state": 0, "split": "random",
}  # fmt: skip
CHAINS = ["C" * n + end for n in range(1, 6) for end in ("O", "N", "F")]
COUNT = len(CHAINS)
NOTHING = "^all labels with a weight are missing: there is nothing to score$"


@pytest.fixture(scope="module")
def one() -> GraphClassifier:
    return GraphClassifier(**SMALL).fit(CHAINS, ["ab"[row % 2] for row in range(COUNT)])


@pytest.fixture(scope="module")
def two() -> GraphClassifier:
    y = [[row % 2, row % 3 == 0] for row in range(COUNT)]
    return GraphClassifier(**SMALL).fit(CHAINS, y)


def half_right(said: Any, other: Any) -> Any:
    """As predicted in the first rows, and wrong in the last three."""
    return np.concatenate([said[:-3], other[-3:]])


def test_classes_with_weights_and_gaps(one: GraphClassifier) -> None:
    said = one.predict(CHAINS)
    wrong = np.where(said == "a", "b", "a")
    y = half_right(said, wrong)
    assert one.score(CHAINS, y) == pytest.approx((COUNT - 3) / COUNT)
    weight = np.r_[np.ones(COUNT - 3), [5.0, 0.0, 2.0]]
    assert one.score(CHAINS, y, weight) == pytest.approx((COUNT - 3) / (COUNT + 4))
    assert one.score(CHAINS, y, 7 * weight) == pytest.approx((COUNT - 3) / (COUNT + 4))
    for gap in (None, np.nan, pd.NA):
        gappy = y.astype(object)
        gappy[-2:] = gap
        assert one.score(CHAINS, gappy) == pytest.approx((COUNT - 3) / (COUNT - 2))
        assert one.score(CHAINS, pd.Series(gappy), weight) == pytest.approx(
            (COUNT - 3) / (COUNT + 2)
        )
    assert one.score(CHAINS, y[:, None]) == one.score(CHAINS, y)


@pytest.mark.parametrize("made", [list, np.array, pd.Series, lambda y: np.array(y, object)])
@pytest.mark.parametrize("dtype", [int, float, bool])
def test_classes_that_are_numbers(made: Any, dtype: type) -> None:
    y = [dtype(row % 2) for row in range(COUNT)]
    model = GraphClassifier(**SMALL).fit(CHAINS, made(y))
    said = model.predict(CHAINS)
    assert said.dtype == dtype
    assert model.score(CHAINS, made(said.tolist())) == 1
    gappy = [*said.tolist()[:-1], None]
    assert model.score(CHAINS, gappy) == 1


def test_labels_with_weights_and_gaps(two: GraphClassifier) -> None:
    said = two.predict(CHAINS)
    y = half_right(said, 1 - said).astype(float)
    assert two.score(CHAINS, y) == pytest.approx((COUNT - 3) / COUNT)
    y[0, 0] = y[-1, 1] = np.nan
    right, there = 2 * (COUNT - 3) - 1, 2 * COUNT - 2
    assert two.score(CHAINS, y) == pytest.approx(right / there)
    weight = np.r_[np.ones(COUNT - 1), 3.0]
    assert two.score(CHAINS, y, weight) == pytest.approx(right / (there + 2))


def test_nothing_to_score(one: GraphClassifier, two: GraphClassifier) -> None:
    last = [0.0] * (COUNT - 1) + [1.0]
    with pytest.raises(DataError, match=NOTHING):
        one.score(CHAINS, [None] * COUNT)
    with pytest.raises(DataError, match=NOTHING):
        one.score(CHAINS, ["a"] * (COUNT - 1) + [None], last)
    with pytest.raises(DataError, match=NOTHING):
        two.score(CHAINS, [[0, 1]] * (COUNT - 1) + [[None, None]], last)
    with pytest.raises(DataError, match="y holds no label at all"):
        two.score(CHAINS, [[None, None]] * COUNT)


def test_another_number_of_columns(one: GraphClassifier, two: GraphClassifier) -> None:
    for model, columns, labels in ((one, 2, 1), (two, 1, 2), (two, 3, 2)):
        sentence = rf"^y has {columns} columns, the model {labels} label\(s\)$"
        with pytest.raises(DataError, match=sentence):
            model.score(CHAINS, np.zeros((COUNT, columns)))
    with pytest.raises(DataError, match=f"y has 3 rows for {COUNT} graphs"):
        one.score(CHAINS, ["a", "b", "a"])
    with pytest.raises(DataError, match="sample_weight has shape"):
        one.score(CHAINS, ["a"] * COUNT, [1.0])
