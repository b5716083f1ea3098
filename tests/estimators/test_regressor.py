"""Scores of numbers, with gaps and weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import r2_score

from gmpool import GraphRegressor
from gmpool.errors import DataError

SMALL: dict[str, Any] = {
    "method": "mean", "members": 1, "epochs": 1, "hidden_dim": 4, "n_jobs": 1, "validation": 0.3,
    "random_state": 0,
}  # fmt: skip
CHAINS = ["C" * n + end for n in range(1, 6) for end in ("O", "N", "F")]
COUNT = len(CHAINS)
LENGTHS = np.array([float(len(text)) for text in CHAINS])
TWO = np.stack([LENGTHS, LENGTHS**2], 1)


@pytest.fixture(scope="module")
def one() -> GraphRegressor:
    return GraphRegressor(**SMALL).fit(CHAINS, LENGTHS)


@pytest.fixture(scope="module")
def two() -> GraphRegressor:
    return GraphRegressor(**SMALL).fit(CHAINS, TWO)


def test_gaps_are_left_out(one: GraphRegressor, two: GraphRegressor) -> None:
    said = one.predict(CHAINS)
    assert one.score(CHAINS, LENGTHS) == pytest.approx(r2_score(LENGTHS, said))
    y = [None, *LENGTHS[1:]]
    assert one.score(CHAINS, y) == pytest.approx(r2_score(LENGTHS[1:], said[1:]))
    gappy, both = TWO.copy(), two.predict(CHAINS)
    gappy[:4, 0] = np.nan
    each = r2_score(TWO[4:, 0], both[4:, 0]), r2_score(TWO[:, 1], both[:, 1])
    assert two.score(CHAINS, gappy) == pytest.approx(np.mean(each))
    gappy[:, 0] = np.nan
    assert two.score(CHAINS, gappy) == pytest.approx(each[1])


def test_weights_count(one: GraphRegressor) -> None:
    said, weight = one.predict(CHAINS), np.arange(COUNT, dtype=float)
    expected = r2_score(LENGTHS, said, sample_weight=weight)
    assert one.score(CHAINS, LENGTHS, weight) == pytest.approx(expected)
    assert one.score(CHAINS, LENGTHS, 1e9 * weight) == pytest.approx(expected)
    assert expected != pytest.approx(one.score(CHAINS, LENGTHS))
    only = (weight < 5).astype(int)
    assert one.score(CHAINS, LENGTHS, only) == pytest.approx(one.score(CHAINS[:5], LENGTHS[:5]))


def test_nothing_to_score(one: GraphRegressor) -> None:
    with pytest.raises(DataError, match="y holds no label at all"):
        one.score(CHAINS, [None] * COUNT)
    y = [1.0] * (COUNT - 1) + [None]
    nothing = "^all labels with a weight are missing: there is nothing to score$"
    with pytest.raises(DataError, match=nothing):
        one.score(CHAINS, y, [0.0] * (COUNT - 1) + [1.0])


def test_another_number_of_columns(one: GraphRegressor, two: GraphRegressor) -> None:
    for model, columns, labels in ((one, 2, 1), (two, 1, 2), (two, 3, 2)):
        sentence = rf"^y has {columns} columns, the model {labels} label\(s\)$"
        with pytest.raises(DataError, match=sentence):
            model.score(CHAINS, np.zeros((COUNT, columns)))
    with pytest.raises(DataError, match="sample_weight has shape"):
        one.score(CHAINS, LENGTHS, [1.0])


def test_answers_have_the_shape_of_y(one: GraphRegressor) -> None:
    column = GraphRegressor(**SMALL).fit(CHAINS, LENGTHS[:, None])
    assert one.predict(CHAINS).shape == (COUNT,)
    assert column.predict(CHAINS).shape == (COUNT, 1)
    np.testing.assert_allclose(column.predict(CHAINS)[:, 0], one.predict(CHAINS), rtol=1e-5)
    assert one.predict_interval(CHAINS, 0.5).shape == (COUNT, 2)
    assert column.predict_interval(CHAINS, 0.5).shape == (COUNT, 1, 2)
