"""Scores of a saved model, as a grid."""

from __future__ import annotations

from gmpool.report.by_label import OF_YES
from gmpool.report.evaluation_grid import SHOWN, Evaluation, LabelScores, evaluation_grid
from gmpool.report.grid import Grid
from gmpool.report.render import render

WHY = "one class only in the given part"
ANSWERS = LabelScores(
    "toxic",
    1200,
    3,
    {"roc_auc": 81.234, "f1": 50.0, "calibration_error": 4.5, "inside": 90.0, "size": 1.25},
    {"roc_auc": (70.0, 90.126), "inside": (85.0, 95.0), "size": (1.0, 1.5)},
)
ENDS = {"rmse": (1000.0, 2000.0)}
NUMBERS = LabelScores("mass", 9, 0, {"rmse": 1234.5, "mae": 0.00123, "r2": 0.5}, ENDS)


def texts(grid: Grid) -> dict[str, list[tuple[str, str]]]:
    return {c.heading: [(s.text + s.raised, s.small) for s in c.squares] for c in grid.columns}


def test_scores_with_their_intervals() -> None:
    grid = evaluation_grid([ANSWERS], Evaluation(1203, [], 0.9, 1000))
    assert texts(grid) == {
        "label": [("toxic", "")],
        "labels": [("1,200", "")],
        "roc_auc %": [("81.23", "70.00 to 90.13")],
        "f1 %": [("50.00", "")],
        "calibration error %": [("4.50", "")],
        "inside %": [("90.00", "85.00 to 95.00")],
        "size": [("1.25", "1.00 to 1.50")],
    }
    assert grid.notes == [
        "1,203 rows",
        "below each score: 95 % interval, from 1,000 bootstrap samples",
        OF_YES,
        "calibration error: how far probabilities are from the shares that came true, on average; "
        "without an interval, because the error of bootstrap samples is too large",
        "inside: how many labels are in their set, which promises 90 %; size: how many answers a "
        "set has, on average; it may have none",
        "rows without a label: toxic 3",
    ]


def test_errors_are_in_the_unit_of_the_label() -> None:
    grid = evaluation_grid([NUMBERS], Evaluation(9, [], 0.755, 0))
    found = texts(grid)
    assert found["rmse"] == [("1234", "1000 to 2000")]
    assert found["mae"] == [("0.00123", "")]
    assert grid.notes == [
        "9 rows",
        "rmse, mae: in units of the label; r2 has none, and 1 is the best",
        "inside: how many labels are in their interval, which promises 75.5 %; size: how wide an "
        "interval is, on average",
    ]


def test_what_is_not_defined_is_marked_and_the_reason_told() -> None:
    one = LabelScores("rare", 4, 0, {"roc_auc": WHY, "f1": 0.0}, {})
    grid = evaluation_grid([ANSWERS, one], Evaluation(4, [], None, 0))
    found = texts(grid)
    assert found["roc_auc %"][1] == ("–ᵘ", "")
    assert found["inside %"][1] == ("–", "")
    assert grid.notes[-1] == f"ᵘ: roc_auc of rare is not defined: {WHY}"
    (record, _) = [r for r in grid.records if r["label_column"] == "rare"]
    assert (record["value"], record["undefined"]) == (None, WHY)


def test_the_first_rows_and_labels_that_count_nowhere_are_shown() -> None:
    bad = [f"x.csv:{n}: why" for n in range(2, 10)]
    unusable = ["x.csv:20: label '7' in column 'toxic' is not 0, 1 or empty"]
    several = [ANSWERS._replace(name=f"t{n}", missing=n) for n in range(8)]
    grid = evaluation_grid(several, Evaluation(1203, bad, None, 0, unusable))
    assert grid.notes[-9:] == [
        "rows without a label: t1 1, t2 2, t3 3, t4 4, t5 5 and 2 more columns",
        "labels that cannot be used, taken for gaps: 1",
        f"  {unusable[0]}",
        "rows without a prediction, which count nowhere: 8",
        *(f"  {line}" for line in bad[:SHOWN]),
    ]
    assert isinstance(grid.whole, dict)
    assert (grid.whole["without_prediction"], grid.whole["labels_taken_for_gaps"]) == (8, 1)


def test_a_form_that_has_intervals_in_brackets_says_what_they_are() -> None:
    grid = evaluation_grid([ANSWERS], Evaluation(1203, [], 0.9, 1000))
    assert "81.23 (95 % interval 70.00 to 90.13)" in render("markdown", [grid])
