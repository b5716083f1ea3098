"""What was trained on, from rows to the lines of the grid."""

from __future__ import annotations

from typing import Any

from report_rows import row, settings

from gmpool.record import Row
from gmpool.report.data_grid import data_grids, data_json
from gmpool.report.grid import Grid
from gmpool.report.recorded_data import recorded_data


def data(task: str, *parts: tuple[int, list[Any]], **more: Any) -> dict[str, Any]:
    """parts: graphs, and what is known of each label column, of train, valid and test."""
    names = ("train", "valid", "test")
    made = {
        name: {"graphs": graphs, "labels": labels}
        for name, (graphs, labels) in zip(names, parts, strict=True)
    }
    found = {"understood": ["a line"], "task": task, "labels": ["p"], "of": 1, "classes": []}
    return {**found, "parts": made, **more}


def grids(*rows: Row) -> list[Grid]:
    return data_grids([("own", rows)])


def texts(grid: Grid) -> dict[str, list[str]]:
    """train, valid and test by the name of the line."""
    assert [column.heading for column in grid.columns] == ["", "train", "valid", "test"]
    return {name.text: [square.text for square in line] for name, *line in grid.lines}


ANSWERS = data("binary", (10, [[2, 6, 2]]), (4, [[0, 4, 0]]), (2, [[0, 0, 2]]))


def test_answers_with_gaps() -> None:
    (grid,) = grids(row(data=ANSWERS), row(seed=43, data=ANSWERS))
    assert grid.title == "Data: own"
    assert texts(grid) == {
        "graphs": ["10", "4", "2"],
        "p": ["2 yes, 6 no (25 % yes), 2 gaps", "0 yes, 4 no (0 % yes)", "0 yes, 0 no, 2 gaps"],
    }
    assert grid.notes == ["a line"]
    assert not grid.essential, "what was understood is told before training"


def test_folds_are_shown_from_the_smallest_to_the_largest() -> None:
    second = data("binary", (1200, [[3, 1197, 0]]), (4, [[1, 3, 0]]), (3, [[0, 0, 3]]))
    (grid,) = grids(row(data=ANSWERS), row(fold=2, data=second))
    assert texts(grid) == {
        "graphs": ["10 – 1,200", "4", "2 – 3"],
        "p": [
            "2 – 3 yes, 6 – 1,197 no (0.25 – 25 % yes), 0 – 2 gaps",
            "0 – 1 yes, 3 – 4 no (0 – 25 % yes)",
            "0 yes, 0 no, 2 – 3 gaps",
        ],
    }
    assert grid.notes[1:] == ["counts from the smallest to the largest of 2 folds; shares likewise"]


def test_numbers_of_folds_are_averaged_and_their_range_is_of_all() -> None:
    first = data("regression", (9, [[8, 1.0, 2.0, -3.0, 4.0]]), (2, [[0]]), (1, [[1, 5, 0, 5, 5]]))
    second = data("regression", (9, [[9, 2.0, 4.0, -1.0, 8.0]]), (2, [[0]]), (1, [[0]]))
    (grid,) = grids(row(data=first), row(fold=2, data=second))
    assert texts(grid) == {
        "graphs": ["9", "2", "1"],
        "p": [
            "1.50 ± 3.00 (-3.00 to 8.00), 0 – 1 gaps",
            "2 gaps",
            "5.00 ± 0.00 (5.00 to 5.00), 0 – 1 gaps",
        ],
    }
    assert grid.notes[1:] == [
        "of numbers: mean ± deviation (least to most)",
        "counts from the smallest to the largest of 2 folds; means and deviations are averaged "
        "over them",
    ]
    (grid,) = grids(row(data=first))
    assert texts(grid)["p"][0] == "1.00 ± 2.00 (-3.00 to 4.00), 1 gaps"


def test_a_line_for_each_class_and_for_what_is_not_named_where_there_is_some() -> None:
    """A few of very many are more than none."""
    named = {"labels": ["kind"], "classes": ["a", "b"]}
    parts = (1000, [[997, 3, 0]]), (2, [[1, 1, 0]]), (0, [[0, 0, 0]])
    (grid,) = grids(row(data=data("multiclass", *parts, **named)))
    assert texts(grid) == {
        "graphs": ["1,000", "2", "0"],
        "kind = a": ["997 (100 %)", "1 (50 %)", "0"],
        "kind = b": ["3 (0.3 %)", "1 (50 %)", "0"],
    }
    parts = (8, [[3, 3, 0]]), (2, [[1, 0, 1]]), (1, [[1, 0, 0]])
    (grid,) = grids(row(data=data("multiclass", *parts, **named)))
    assert texts(grid)["other classes"] == ["2", "–", "–"]
    assert texts(grid)["gaps"] == ["–", "1", "–"]


def test_the_first_of_many_columns() -> None:
    one = [[1, 1, 0], [2, 0, 0]]
    given = data("binary", (2, one), (2, one), (2, one), labels=["p", "q"], of=40)
    (grid,) = grids(row(data=given))
    assert list(texts(grid)) == ["graphs", "p", "q"]
    assert "the first 2 of 40 label columns" in grid.notes


def test_labels_without_a_name() -> None:
    (grid,) = grids(row(data={**ANSWERS, "labels": []}))
    assert list(texts(grid)) == ["graphs", "label"]


def test_members_that_divide_in_their_own_ways() -> None:
    note = "train and valid are divided anew by the members, each validated on its own"
    for by, members, said in (("folds", 3, True), ("folds", 1, False), ("seeds", 3, False)):
        config = settings(members_by=by, members=members)
        (grid,) = grids(row(data=ANSWERS, config=config))
        assert (note in grid.notes) == said


def test_one_set_split_in_several_ways_is_told_apart() -> None:
    """A split that is no dictionary was written by hand."""
    splits: list[Any] = [{"kind": "scaffold"}, None, {"seed": 1}, ["random"], "x"]
    found = grids(*(row(data=ANSWERS, split=split) for split in splits))
    named = ["scaffold", *["as it came"] * 4]
    assert [grid.title for grid in found] == [f"Data: own, split: {name}" for name in named]
    (alone,) = grids(row(data=ANSWERS, split=["random"]))
    assert alone.title == "Data: own"


def test_other_labels_of_one_table_are_another_grid() -> None:
    other = {**ANSWERS, "labels": ["q"]}
    assert [list(texts(g))[1] for g in grids(row(data=ANSWERS), row(data=other))] == ["p", "q"]


def test_rows_of_named_sets_have_none() -> None:
    assert grids(row(), row(seed=43)) == []


def test_by_names_for_a_program() -> None:
    found = recorded_data(row(data=ANSWERS))
    assert found is not None
    made = data_json(found)
    assert made["understood"] == ["a line"]
    assert made["parts"]["train"] == {"graphs": 10, "labels": {"p": {"yes": 2, "no": 6, "gaps": 2}}}
    numbers = data("regression", *[(9, [[8, 1.0, 2.0, -3.0, 4.0]]), (2, [[0]]), (0, [[0]])])
    found = recorded_data(row(data=numbers))
    assert found is not None
    made = data_json(found)
    assert made["parts"]["train"]["labels"]["p"] == {
        "count": 8, "mean": 1.0, "std": 2.0, "min": -3.0, "max": 4.0
    }  # fmt: skip
    assert made["parts"]["valid"]["labels"]["p"] == {"count": 0}
    parts = (3, [[1, 1, 1]]), (1, [[1, 0, 0]]), (0, [[0, 0, 0]])
    found = recorded_data(row(data=data("multiclass", *parts, classes=["a", "b"])))
    assert found is not None
    assert data_json(found)["parts"]["train"]["labels"]["p"] == {"a": 1, "b": 1, "gaps": 1}
