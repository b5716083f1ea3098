"""What rows say of data, after somebody changed it."""

from __future__ import annotations

from typing import Any

import pytest
from report_rows import row

from gmpool.errors import UserError
from gmpool.report.recorded_data import Data, Part, is_own, recorded_data

COLUMN = [3, 0.5, 1.0, -1.0, 2.0]


def data(**changed: Any) -> dict[str, Any]:
    part = {"graphs": 3, "labels": [COLUMN]}
    empty = {"graphs": 0, "labels": [[0]]}
    return {
        "understood": ["x.csv"], "task": "regression", "labels": ["p"], "of": 1, "classes": [],
        "parts": {"train": part, "valid": empty, "test": empty}, **changed,
    }  # fmt: skip


def with_part(**changed: Any) -> dict[str, Any]:
    found = data()
    found["parts"]["train"] = {**found["parts"]["train"], **changed}
    return found


def binary(column: Any) -> dict[str, Any]:
    part = {"graphs": 3, "labels": [column]}
    return data(task="binary", parts={"train": part, "valid": part, "test": part})


def test_what_is_sound_is_read() -> None:
    empty = Part(0, [[0]])
    parts = {"train": Part(3, [COLUMN]), "valid": empty, "test": empty}
    assert recorded_data(row(data=data())) == Data(["x.csv"], "regression", ["p"], 1, [], parts)
    assert recorded_data(row(data=binary([1, 1, 1]))) is not None
    assert recorded_data(row()) is None


def test_whose_the_data_are() -> None:
    assert is_own(row(data=data()))
    assert is_own(row(outputs={}))
    assert not is_own(row())


@pytest.mark.parametrize(
    "changed",
    [
        7,
        [],
        data(task="other"),
        data(task=["binary"]),
        data(understood="x.csv"),
        data(understood=[None]),
        data(labels=[1]),
        data(labels=["p", "q"]),
        data(classes={"a": 1}),
        data(of=True),
        data(of=-1),
        data(of=None),
        data(parts=[]),
        data(parts={"train": {}}),
        data(parts={"train": None, "valid": None, "test": None}),
        with_part(graphs=2.5),
        with_part(graphs=None),
        with_part(graphs=2),
        with_part(labels=COLUMN),
        with_part(labels=[]),
        with_part(labels=[[]]),
        with_part(labels=[[3]]),
        with_part(labels=[[3, "0.5", 1.0, -1.0, 2.0]]),
        with_part(labels=[[3.5, 0.5, 1.0, -1.0, 2.0]]),
        with_part(labels=[[3, 0.5, -1.0, -1.0, 2.0]]),
        with_part(labels=[[3, 1e300, 1.0, -1.0, 2.0]]),
        binary([1, 1]),
        binary([1, 1, -1]),
        binary([1, 1, 1.0]),
        binary([1, True, 1]),
        binary([2, 2, 0]),
        {**binary([1, 1, 1]), "task": "multiclass", "classes": ["a"]},
    ],
)
def test_what_somebody_changed_is_an_error_that_names_the_run(changed: Any) -> None:
    with pytest.raises(UserError, match=r"description of the data .* gmt on own, seed 7 fold 3"):
        recorded_data(row(data=changed, dataset="own", seed=7, fold=3))
