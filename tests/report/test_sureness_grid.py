"""How sure predictions are, from rows to the squares of the grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from report_rows import row

from gmpool.record import Row
from gmpool.report.grid import Grid
from gmpool.report.recorded_outputs import packed_outputs
from gmpool.report.sureness_grid import sureness, sureness_grids

NAN = np.nan
INSIDE = {
    "held_out": 40, "promised": [0.5, 0.9, 0.95], "share": [[0.25, 0.75, 1.0]],
    "width": [[0.5, 1.25, 1.75]],
}  # fmt: skip


def answers(line: Any = ((1.0, 0.0),), **more: Any) -> Row:
    """Probabilities of 90, 60 and 20 %, of which the first two came true, and a gap."""
    said = np.array([0.9, 0.6, 0.2, 0.3])[:, None]
    truth = np.array([[1.0], [1.0], [0.0], [NAN]])
    found = packed_outputs(
        "binary", ["toxic"], (), np.log(said / (1 - said)), truth, line=np.array(line),
        deviation=np.array([[0.02], [0.04], [0.06], [0.5]]),
    )  # fmt: skip
    return row(dataset="own", outputs=found, **more)


def numbers(deviation: Any = (0.5, 0.25, 1.0, 7.0), **more: Any) -> Row:
    """Off by 0.5, nothing and 2, and a gap."""
    found = packed_outputs(
        "regression", ["logP"], (), np.array([[1.0], [2.0], [3.0], [9.0]]),
        np.array([[1.5], [2.0], [5.0], [NAN]]), deviation=np.array(deviation)[:, None],
    )  # fmt: skip
    return row(dataset="own", metric="rmse", outputs=found, **more)


def grid_of(*rows: Row) -> Grid:
    (grid,) = sureness_grids([("own", "gmt", rows)])
    return grid


def texts(grid: Grid) -> dict[str, str]:
    """Of the only line, by heading."""
    headings = (f"{column.heading} {column.small}".strip() for column in grid.columns)
    ((*line,),) = grid.lines
    return dict(zip(headings, [square.text for square in line], strict=True))


def test_answers() -> None:
    grid = grid_of(answers(sureness=INSIDE))
    assert texts(grid) == {
        "dataset": "own", "method": "gmt", "label": "toxic",
        "calibration error as predicted": "10.0 %", "deviation mean": "4.0 %",
        "inside at 50 %": "25.0 %", "inside at 90 %": "75.0 %", "inside at 95 %": "100.0 %",
        "answers at 90 %": "1.25",
    }  # fmt: skip
    assert grid.notes == [
        "calibration error: how far probabilities are from the shares that come true, on average "
        "over bins of equal count",
        "deviation: of the probabilities of the members, on average",
        "inside at 95 %: how often sets that promise to hold the truth in 95 % do so in the test "
        "part; they rest on what was held out for validation; answers: how many a set has, on "
        "average; it may have none",
    ]
    assert grid.essential


def test_the_error_before_calibration_is_shown_where_this_changed_it() -> None:
    said = texts(grid_of(answers(line=[[0.0, 0.0]])))
    assert said["calibration error before calibration"] == "10.0 %"
    assert said["calibration error as predicted"] == "16.7 %", "all say 50 %, and 67 % come true"


def test_numbers_are_in_the_unit_of_the_label() -> None:
    grid = grid_of(numbers(sureness={**INSIDE, "width": [[0.5, 1250.0, 1.75]]}))
    assert texts(grid) == {
        "dataset": "own", "method": "gmt", "label": "logP", "deviation mean": "0.583",
        "deviation rank with error": "1.00", "inside at 50 %": "25.0 %",
        "inside at 90 %": "75.0 %", "inside at 95 %": "100.0 %", "width at 90 %": "1250",
    }  # fmt: skip
    assert grid.notes == [
        "deviation: what the ensemble expects of its error; its rank correlation with the error",
        "inside at 95 %: how often intervals that promise to hold the truth in 95 % do so in the "
        "test part; they rest on what was held out for validation; width: their median",
    ]


def test_classes_rest_on_how_sure_the_said_one_was() -> None:
    likely = np.array([[0.6, 0.3, 0.1], [0.2, 0.8, 0.0]])
    found = packed_outputs(
        "multiclass", ["kind"], "abc", likely, np.array([0, 0]), sure=likely.max(1)
    )
    said = texts(grid_of(row(dataset="own", outputs=found)))
    assert list(said) == ["dataset", "method", "label", "calibration error as predicted"]
    assert said["calibration error as predicted"] == "20.0 %", "70 % were said, half was right"


@pytest.mark.parametrize(("deviation", "rank"), [((1.0, 0.25, 0.5, 7), 0.5), ((1, 1, 1, 1), None)])
def test_deviations_are_ranked_with_errors(deviation: Any, rank: float | None) -> None:
    found = sureness([numbers(deviation)])["logP"]
    assert found["rank"] == (rank if rank is None else pytest.approx(rank))
    assert found["deviation"] == pytest.approx(np.mean(deviation[:3]))


def test_runs_are_averaged_where_they_promise_the_same() -> None:
    other = {**INSIDE, "promised": [0.5, 0.8], "share": [[0.75, None]], "width": [[1.5, None]]}
    said = texts(grid_of(numbers(sureness=INSIDE), numbers(seed=43, sureness=other)))
    assert said["inside at 50 %"] == "50.0 %"
    assert said["inside at 90 %"] == "75.0 %"
    assert "inside at 80 %" not in said


def test_the_width_of_the_most_that_is_promised() -> None:
    few = {"held_out": 3, "promised": [0.5, 0.75], "share": [[0.5, 1]], "width": [[1.0, 4.0]]}
    said = texts(grid_of(numbers(sureness=few)))
    assert [key for key in said if key.startswith("width")] == ["width at 75 %"]
    assert said["width at 75 %"] == "4.00"


@pytest.mark.parametrize(
    ("metric", "test", "alone", "said"),
    [
        ("accuracy", 80.0, (70.0, 80.0), "accuracy 80.00 % together, 75.00 ± 7.07 % alone"),
        ("rmse", 1234.5, (1000.0, 1500.0), "rmse 1234 together, 1250 ± 354 alone"),
        ("rmse", 0.5, (0.75,), "rmse 0.500 together, 0.750 alone"),
    ],
)
def test_what_members_give_together(metric: str, test: float, alone: Any, said: str) -> None:
    members = [{"test": value} for value in alone]
    grid = grid_of(answers(metric=metric, test=test, members=members))
    assert grid.notes[-1] == f"gmt on own: the {len(alone)} members have {said}"


@pytest.mark.parametrize("members", [7, {}, ["x"], [{"test": "7"}, {"test": True}, {}, [1]]])
def test_members_that_somebody_changed_are_left_out(members: Any) -> None:
    assert not any("members have" in note for note in grid_of(answers(members=members)).notes)


def test_rows_that_do_not_say_or_do_not_fit_together() -> None:
    assert sureness_grids([("own", "gmt", [row(), row(seed=43)])]) == []
    assert sureness([answers(), numbers()]) == {}
    more = {**INSIDE, "share": [], "width": []}
    assert "inside 0.9" not in sureness([answers(sureness=more)])["toxic"]
