"""A trained model on new graphs: how many at a time, and those of which nothing can be said."""

from __future__ import annotations

import pytest
from calibrated_models import plain_model
from chains import CHAINS

from gmpool.data import graph_rows
from gmpool.data.graph_rows import PART_ROWS, packed
from gmpool.errors import UserError
from gmpool.tasks.classify.ensemble import BATCH
from gmpool.tasks.classify.predict import Predictor, predict, predictions


@pytest.mark.parametrize(
    ("asked", "taken"), [(None, BATCH), (7, 7), (PART_ROWS, PART_ROWS), (10**9, PART_ROWS)]
)
def test_no_batch_is_larger_than_a_part(asked: int | None, taken: int) -> None:
    assert Predictor(plain_model(), batch_size=asked).batch_size == taken


@pytest.mark.parametrize("size", [0, -3])
def test_a_batch_has_a_graph(size: int) -> None:
    with pytest.raises(UserError, match=f"batch_size must be at least 1, got {size}"):
        Predictor(plain_model(), batch_size=size)


@pytest.mark.parametrize(("part", "batch"), [(5, 100), (100, 3), (1, 1)])
def test_parts_and_batches_of_any_size_say_the_same(
    part: int, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_rows, "PART_ROWS", part)
    model = plain_model()
    rows = [row.cells[1] for row in predictions(model, CHAINS[:12], batch_size=batch).rows]
    expected = predict(model, packed(tuple(CHAINS[:12]))[0])[:, 0].tolist()
    assert rows == pytest.approx(expected, rel=1e-4)


def test_each_row_has_its_own_answer_or_reason() -> None:
    """Rows without an answer do not move the others."""
    model = plain_model()
    given = ["CCO", "no molecule", "CCCl", "", "CN"]
    expected = predict(model, packed(("CCO", "CCCl", "CN"))[0])[:, 0].tolist()
    rows = list(predictions(model, given).rows)
    assert [row.cells[0] for row in rows] == given
    assert [row.problem is None for row in rows] == [True, False, True, False, True]
    assert [rows[n].cells[1] for n in (0, 2, 4)] == pytest.approx(expected, rel=1e-4)
    assert [rows[n].cells[1] for n in (1, 3)] == [None, None]
