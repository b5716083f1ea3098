from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from gmpool.record import Row

RESULTS = Path(__file__).resolve().parents[1] / "results"
STORES = sorted(
    path for path in RESULTS.glob("*/rows.jsonl") if path.parent.name != "second-opinion"
)


def given() -> dict[str, Any]:
    text = (RESULTS / "cpu" / "rows.jsonl").read_text(encoding="utf-8").splitlines()[0]
    return json.loads(text)


@pytest.mark.parametrize("path", STORES, ids=lambda path: path.parent.name)
def test_nothing_is_lost_of_any_recorded_row(path: Path) -> None:
    for line in path.read_text(encoding="utf-8").splitlines():
        assert json.dumps(Row.from_json(json.loads(line)).to_json(), sort_keys=True) == line


def test_the_stores_are_there() -> None:
    assert len(STORES) == 16


def test_fields_and_what_a_task_adds() -> None:
    row = Row.from_json({**given(), "scores": {"error_x": 0.1}, "source": "s"})
    assert (row.dataset, row.method, row.source) == ("MUTAG", "gmt", "s")
    assert row.more["scores"] == {"error_x": 0.1}
    assert (row.replicas, row.precision) == (None, None)
    assert row.model["method"] == "gmt"
    assert "epochs" in row.train
    assert "precision" not in row.to_json()
    assert Row.from_json({**given(), "test": None}).to_json()["test"] is None
    with pytest.raises(AttributeError):
        row.seed = 3


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("seed", "42", r"seed must be a whole number \(got '42'\)"),
        ("seed", 4.5, r"seed must be a whole number \(got 4.5\)"),
        ("fold", True, r"fold must be a whole number \(got True\)"),
        ("test", "80", r"test must be a number or null \(got '80'\)"),
        ("dataset", None, r"dataset must be text \(got None\)"),
        ("commit", 3, r"commit must be text or null \(got 3\)"),
        ("config", [], r"config must be an object \(got \[\]\)"),
        ("config", {"model": {}}, r"config.train must be an object \(got None\)"),
        ("config", {"model": 1, "train": {}}, r"config.model must be an object"),
        ("config", {"model": {"pool": 1}, "train": {}}, r"config.model.pool must be an object"),
        ("curve", None, r"curve must be an object"),
        ("replicas", "a", r"replicas must be a whole number or null"),
        ("replicas", 0, r"replicas must be at least 1 \(got 0\)"),
        ("epochs", -1, r"epochs must be at least 0"),
        ("seconds", -0.5, r"seconds must be at least 0"),
        ("fold", 0, r"fold must be at least 1"),
        ("seed", 10**4000, r"seed must fit into 64 bits \(it has 4001 digits\)"),
        ("test", math.inf, r"test must be a finite number \(got inf\)"),
        ("curve", {"train_loss": 1}, r"curve.train_loss must be a list of numbers"),
        ("curve", {"train_loss": ["a"]}, r"curve.train_loss must be a list of numbers"),
        ("curve", {"train_loss": [], "every": 0}, r"curve.every must be"),
        ("versions", {"torch": 2}, r"versions.torch must be text"),
        ("selection_score", "high", r"selection_score must be a number"),
        ("scores", {"a": [{"b": -math.inf}]}, r"scores.a.b must be a finite number"),
        (
            "config",
            {"model": {"method": 3}, "train": {}},
            r"config.model.method must be text \(got 3\)",
        ),
        (
            "config",
            {"model": {}, "train": {}},
            r"config.model.method must be text \(got None\)",
        ),
        (
            "config",
            {"model": {"method": "gmt"}, "train": {"epochs": 0}},
            r"config.train.epochs must be at least 1 \(got 0\)",
        ),
    ],
)
def test_a_field_of_another_type_is_named(field: str, value: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Row.from_json({**given(), field: value})


@pytest.mark.parametrize("field", ["key", "task", "test", "curve", "commit"])
def test_a_missing_field_is_named(field: str) -> None:
    found = given()
    del found[field]
    with pytest.raises(ValueError, match=f"{field} is missing"):
        Row.from_json(found)


@pytest.mark.parametrize("found", [[], "row", None, 3])
def test_something_else_is_no_row(found: Any) -> None:
    with pytest.raises(ValueError, match=r"expected an object \(got "):
        Row.from_json(found)
