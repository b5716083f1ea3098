"""Scores of each label column, from the rows to every form of a table."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from report_rows import row

from gmpool.errors import UserError
from gmpool.record import Row
from gmpool.report.by_label import MOST_LINES, MOST_NOTES, scores_by_label
from gmpool.report.grid import Grid
from gmpool.report.render import FORMS, render
from gmpool.report.summary import by_label_grids, summarise, summary_grid

WHY = "one class only in the test part"


def numbers(rmse: float, mass: float = 40.0) -> dict[str, Any]:
    """Two targets of a run, in units far apart."""
    part = {"count": [5, 4], "rmse": [rmse, mass], "mae": [rmse / 2, 30.0], "r2": [0.5, -0.25]}
    return {"labels": ["logP", "mass"], "test": part, "valid": {**part, "rmse": [0.25, 20.0]}}


def answers(roc: float | None) -> dict[str, Any]:
    part: dict[str, Any] = {"count": [9], "roc_auc": [roc], "accuracy": [75.0]}
    if roc is None:
        part["undefined"] = {"toxic": {"roc_auc": WHY}}
    return {"labels": ["toxic"], "test": part}


def rows(*scores: Any, **values: Any) -> list[Row]:
    return [row(seed=seed, scores=found, **values) for seed, found in enumerate(scores)]


def grid_of(given: list[Row]) -> Grid:
    (grid,) = by_label_grids(summarise(given))
    return grid


def texts(grid: Grid) -> list[list[str]]:
    return [[square.text + square.raised for square in line] for line in grid.lines]


def test_each_label_is_a_line_in_its_own_unit() -> None:
    grid = grid_of(rows(numbers(0.001), numbers(0.003), metric="nrmse", dataset="two"))
    assert [c.heading for c in grid.columns] == [
        "dataset", "method", "label", "labels", "rmse", "mae", "r2"
    ]  # fmt: skip
    assert texts(grid) == [
        ["two", "gmt", "logP", "5", "0.00200 ± 0.00141", "0.00100 ± 0.00071", "0.50 ± 0.00"],
        ["two", "gmt", "mass", "4", "40.0 ± 0.0", "30.0 ± 0.0", "-0.25 ± 0.00"],
    ]
    assert any("in units of the label" in note for note in grid.notes)


def test_what_is_not_defined_is_marked_and_the_reason_told() -> None:
    grid = grid_of(rows(answers(None), answers(80.0), answers(90.0)))
    assert texts(grid) == [["MUTAG", "gmt", "toxic", "9", "85.00 ± 7.07ᵘ", "75.00 ± 0.00"]]
    assert f"ᵘ: roc_auc of toxic not defined in 1 run: {WHY}" in grid.notes
    grid = grid_of(rows(answers(None)))
    assert texts(grid)[0][4] == "–ᵘ"
    assert "nan" not in json.dumps(list(grid.records)).lower()


def test_one_seed_has_a_deviation_over_folds() -> None:
    given = [row(fold=fold, scores=answers(roc)) for fold, roc in ((1, 80.0), (2, 90.0))]
    assert texts(grid_of(given))[0][4] == "85.00 ± 7.07ᶠ"
    assert any(note.startswith("ᶠ") for note in grid_of(given).notes)
    over_seeds = "mean ± deviation over seeds, folds averaged first"
    assert over_seeds not in grid_of(given).notes
    assert over_seeds in grid_of(rows(answers(80.0), answers(90.0))).notes


def test_rows_from_before_have_no_such_grid_and_their_table_is_as_it_was() -> None:
    (old,) = summarise([row()])
    assert by_label_grids([old]) == []
    assert "by_label" not in old.to_json()
    (mixed,) = summarise([row(seed=1), row(seed=2, scores=answers(80.0))])
    assert [score.test.runs for score in mixed.by_label] == [1, 1]


def test_a_run_without_a_test_part_says_so() -> None:
    found = numbers(1.0)
    del found["test"]
    (logp, *_) = scores_by_label([row(scores=found)])
    assert (logp.test.mean, logp.valid, logp.count) == (None, 0.25, (0, 0))
    assert logp.undefined == {"no test part": 1}


def test_several_targets_are_explained_below_the_summary() -> None:
    grid = summary_grid(summarise(rows(numbers(1.0), metric="nrmse")))
    assert any(note.startswith("nrmse: the mean over label columns") for note in grid.notes)
    assert not any("nrmse" in note for note in summary_grid(summarise([row()])).notes)


def test_csv_has_a_line_per_score_and_json_has_them_in_their_line() -> None:
    found = summarise(rows(numbers(0.5), metric="nrmse"))
    grids = [summary_grid(found), *by_label_grids(found)]
    lines = list(csv.DictReader(io.StringIO(render("csv", grids))))
    assert [(r["label_column"], r["metric"], r["test_mean"], r["test_labels"]) for r in lines] == [
        ("", "nrmse", "80.0", ""),
        ("logP", "rmse", "0.5", "5"), ("logP", "mae", "0.25", "5"), ("logP", "r2", "0.5", "5"),
        ("mass", "rmse", "40.0", "4"), ("mass", "mae", "30.0", "4"), ("mass", "r2", "-0.25", "4"),
    ]  # fmt: skip
    (line,) = json.loads(render("json", grids))
    assert line["by_label"][0] == {
        "label_column": "logP", "metric": "rmse", "runs": 1, "test_mean": 0.5, "test_std": None,
        "std_over": "folds", "valid_mean": 0.25, "test_labels": [5, 5], "undefined": {},
        "interval": None, "interval_over": None,
    }  # fmt: skip


@pytest.mark.parametrize("form", [name for name in FORMS if name != "json"])
def test_every_form_shows_the_label_and_the_reason(form: str) -> None:
    found = summarise(rows(answers(None), dataset="tox"))
    made = render(form, [summary_grid(found), *by_label_grids(found)])
    assert "toxic" in made
    assert WHY in made


def test_many_labels_in_percent_are_shown_as_their_mean() -> None:
    count = MOST_LINES + 1
    part = {"count": [9] * count, "roc_auc": [None, *([50.0] * (count - 2)), 80.0]}
    names = [f"t{i}" for i in range(count)]
    many = {"labels": names, "test": {**part, "undefined": {"t0": {"roc_auc": WHY}}}}
    grid = grid_of(rows(many))
    mean = (50 * (count - 2) + 80) / (count - 1)
    assert texts(grid) == [["MUTAG", "gmt", f"mean of {count}", "9", f"{mean:.2f}ᵘ"]]
    assert len(grid.records) == count
    targets = {"labels": names, "test": {"count": [9] * count, "rmse": [1.0] * count}}
    assert len(grid_of(rows(targets)).lines) == count, "other units have no mean"


def test_no_more_reasons_than_can_be_read() -> None:
    names = [f"t{i}" for i in range(MOST_NOTES + 3)]
    part = {
        "count": [9] * len(names),
        "roc_auc": [None] * len(names),
        "undefined": {name: {"roc_auc": WHY} for name in names},
    }
    notes = grid_of(rows({"labels": names, "test": part})).notes
    assert sum(WHY in note for note in notes) == MOST_NOTES
    assert notes[-1] == "ᵘ: and 3 more; --format csv has all"


@pytest.mark.parametrize(
    "scores",
    [
        7,
        {"labels": "logP"},
        {"labels": [1]},
        {"labels": ["a"], "test": []},
        {"labels": ["a"], "test": {"rmse": [1.0, 2.0]}},
        {"labels": ["a"], "test": {"rmse": [True]}},
        {"labels": ["a"], "test": {"rmse": ["1"]}},
        {"labels": ["a"], "valid": {"rmse": [1.0], "undefined": []}},
        {"labels": ["a"], "test": {"rmse": [None], "undefined": {"a": "why"}}},
        {"labels": ["a"], "test": {"rmse": [None], "undefined": {"a": {"rmse": None}}}},
    ],
)
def test_scores_that_somebody_changed_are_an_error_that_names_the_run(scores: Any) -> None:
    with pytest.raises(UserError, match="gmt on MUTAG, seed 0 fold 1, cannot be read"):
        grid_of(rows(scores))
