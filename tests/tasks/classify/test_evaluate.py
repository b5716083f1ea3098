"""Scores of a saved model on labelled data, beside what its own predictions say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from calibrated_models import calibrated_model, plain_model
from chains import CHAINS, chain_set, labels_for

from gmpool.errors import DataError, UserError
from gmpool.report.calibration_error import calibration_error
from gmpool.report.grid import Grid
from gmpool.tasks.classify import evaluate
from gmpool.tasks.classify.evaluate import _draws, evaluation
from gmpool.tasks.classify.predict import predictions


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "_draws", lambda graphs, labels: 40)


def table(path: Path, names: str, cells: Sequence[Any], more: str = "") -> Path:
    lines = [f"{smiles},{cell}" for smiles, cell in zip(CHAINS, cells, strict=True)]
    path.write_text("\n".join([f"smiles,{names}", *lines, more]))
    return path


def scores(grids: Sequence[Grid]) -> dict[str, dict[str, float]]:
    """By label column the numbers that are defined."""
    found: dict[str, dict[str, float]] = {}
    for record in grids[0].records:
        if record["value"] is not None:
            found.setdefault(record["label_column"], {})[record["metric"]] = record["value"]
    return found


def said(model: Any, source: Any, **options: Any) -> dict[str, list[Any]]:
    """What the model predicts, by column."""
    made = predictions(model, source, **options)
    return dict(zip(made.columns, zip(*(row.cells for row in made.rows), strict=True), strict=True))


def test_errors_and_intervals_of_a_table_with_gaps(tmp_path: Path) -> None:
    """A row without a prediction counts nowhere."""
    model = calibrated_model()
    cells = ["" if n % 8 == 3 else len(smiles) + 0.5 for n, smiles in enumerate(CHAINS)]
    path = table(tmp_path / "t.csv", "y", cells, more="no molecule,7")
    seen: list[tuple[int, int | None]] = []
    (grid,) = made = evaluation(model, path, told=lambda *each: seen.append(each))
    found = scores(made)["y"]
    columns = said(model, CHAINS, coverage=0.9)
    pred, low, high = (np.array(columns[f"{kind}_y"]) for kind in ("pred", "low", "high"))
    there = np.array([cell != "" for cell in cells])
    truth = np.array([len(smiles) + 0.5 for smiles in CHAINS])[there]
    error = pred[there] - truth
    assert found["rmse"] == pytest.approx(np.sqrt((error**2).mean()))
    assert found["mae"] == pytest.approx(np.abs(error).mean())
    inside = (low[there] <= truth) & (truth <= high[there])
    assert found["inside"] == pytest.approx(100 * inside.mean())
    assert found["size"] == pytest.approx((high - low)[there].mean())
    assert grid.columns[1].squares[0].text == "28"
    assert grid.notes[0] == "33 rows"
    assert grid.notes[-3:-1] == [
        "rows without a label: y 4", "rows without a prediction, which count nowhere: 1"
    ]  # fmt: skip
    assert "t.csv:34: not a possible molecule" in grid.notes[-1]
    assert seen[-1][0] == 33


@pytest.mark.usefixtures("few_draws")
def test_answers_and_that_the_calibration_error_has_no_interval(tmp_path: Path) -> None:
    model = calibrated_model("binary")
    cells = [f"{int('O' in smiles)},{int(len(smiles) > 5)}" for smiles in CHAINS]
    path = table(tmp_path / "t.csv", "oxygen,long", cells)
    grids = evaluation(model, path, coverage=0.8)
    found, columns = scores(grids), said(model, CHAINS, coverage=0.8)
    truth = {name: np.array([int(c.split(",")[n]) for c in cells]) for n, name in
             enumerate(("oxygen", "long"))}  # fmt: skip
    for name, true in truth.items():
        p = np.array(columns[f"p_{name}"])
        assert found[name]["accuracy"] == pytest.approx(100 * ((p > 0.5) == true).mean())
        expected = 100 * calibration_error(p, true)
        assert found[name]["calibration_error"] == pytest.approx(expected)
        sets = [text.split("|") for text in columns[f"set_{name}"]]
        words = ["yes" if one else "no" for one in true]
        held = [word in each for word, each in zip(words, sets, strict=True)]
        assert found[name]["inside"] == pytest.approx(100 * np.mean(held))
        sizes = [len([word for word in each if word]) for each in sets]
        assert found[name]["size"] == pytest.approx(np.mean(sizes))
    ends = {r["metric"]: r["low"] for r in grids[0].records if r["label_column"] == "long"}
    assert ends.pop("calibration_error") is None
    assert all(low is not None for low in ends.values())
    assert {*ends} == {"roc_auc", "pr_auc", "accuracy", "f1", "inside", "size"}


@pytest.mark.usefixtures("few_draws")
def test_only_the_labels_that_are_asked_for(tmp_path: Path) -> None:
    model = calibrated_model("binary")
    path = table(tmp_path / "t.csv", "oxygen", [int("O" in smiles) for smiles in CHAINS])
    assert {*scores(evaluation(model, path, label=["oxygen", "oxygen"]))} == {"oxygen"}
    with pytest.raises(DataError, match="no column 'long'"):
        evaluation(model, path)
    with pytest.raises(UserError, match=r"label of the model .*lon"):
        evaluation(model, path, label=["lon"])


@pytest.mark.usefixtures("few_draws")
def test_classes_that_the_model_does_not_know_in_a_table(tmp_path: Path) -> None:
    model = calibrated_model("multiclass")
    cells = ["peptide" if n == 5 else "7" if n == 9 else n % 4 for n in range(len(CHAINS))]
    path = table(tmp_path / "t.csv", "y", cells)
    said_why = r"2 labels cannot be used:\n.*t.csv:7: label 'peptide' in column 'y' is no class of "
    with pytest.raises(DataError, match=said_why):
        evaluation(model, path)
    (grid,) = made = evaluation(model, path, skip_bad_labels=True)
    assert grid.columns[1].squares[0].text == "30"
    columns = said(model, CHAINS)
    known = [n for n in range(len(CHAINS)) if n not in (5, 9)]
    right = np.array([columns["pred_y"][n] == str(n % 4) for n in known])
    found = scores(made)["y"]
    assert found["accuracy"] == pytest.approx(100 * right.mean())
    likely = np.max([columns[f"p_{name}"] for name in "0123"], axis=0)[known]
    assert found["calibration_error"] == pytest.approx(100 * calibration_error(likely, right))
    at = grid.notes.index("labels that cannot be used, taken for gaps: 2")
    assert "label 'peptide'" in grid.notes[at + 1]
    assert "label '7'" in grid.notes[at + 2]


@pytest.mark.usefixtures("few_draws")
def test_classes_of_a_set_are_taken_by_their_names() -> None:
    """Another order of them is no other answer; what has no name in the model is told."""
    model, graphs = calibrated_model("multiclass"), chain_set("multiclass").graphs
    assert graphs.y is not None
    right = scores(evaluation(model, graphs))["y"]
    turned = replace(graphs, y=3 - graphs.y, class_names=("3", "2", "1", "0"))
    assert scores(evaluation(model, turned))["y"] == right
    named = replace(graphs, class_names=("0", "1", "x", "3"))
    with pytest.raises(DataError, match=r"chains has graphs of the class x, .* \(0, 1, 2, 3\)"):
        evaluation(model, named)
    (grid,) = evaluation(model, named, skip_bad_labels=True)
    assert grid.columns[1].squares[0].text == "24"
    at = grid.notes.index("labels that cannot be used, taken for gaps: 8")
    assert grid.notes[at + 1] == "  graph 2: class 'x' is none of the model"


@pytest.mark.usefixtures("few_draws")
def test_without_calibration_nothing_is_promised(tmp_path: Path) -> None:
    """Of few held-out graphs 90 % cannot be promised either, and of more columns none is asked."""
    path = table(tmp_path / "t.csv", "y", [len(smiles) for smiles in CHAINS])
    assert {*scores(evaluation(plain_model(), path))["y"]} == {"rmse", "mae", "r2"}
    with pytest.raises(UserError, match="coverage needs a calibrated model"):
        evaluation(plain_model(), path, coverage=0.9)
    assert "inside" in scores(evaluation(calibrated_model(), path))["y"]


@pytest.mark.usefixtures("few_draws")
def test_a_set_in_parts_is_scored_as_at_once() -> None:
    model, graphs = calibrated_model("binary"), chain_set("binary").graphs
    whole = scores(evaluation(model, graphs))
    for size in (7, 10**9):
        found = scores(evaluation(model, graphs, batch_size=size))
        for name in ("oxygen", "long"):
            assert found[name] == pytest.approx(whole[name], rel=1e-4)
    labels = np.array(labels_for("binary"))
    assert len(graphs) - int(np.isnan(labels[:, 1]).sum()) == 25
    (grid,) = evaluation(model, graphs)
    assert [square.text for square in grid.columns[1].squares] == ["32", "25"]


def test_fewer_draws_of_more_rows_and_none_of_many_columns() -> None:
    assert [_draws(n, 1) for n in (0, 5_000, 10_000, 10**7)] == [1000, 1000, 500, 200]
    assert (_draws(10, 30), _draws(10, 31)) == (1000, 0)
