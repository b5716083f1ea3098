from __future__ import annotations

from typing import Any

import pytest
from ranking_rows import GIVEN, UNKNOWN, cell, ranking_row

from gmpool.record import Row
from gmpool.report.grid import Grid
from gmpool.tasks.retrosynthesis.by_class import by_class_grids, class_scores, class_text
from gmpool.tasks.retrosynthesis.recorded import Line, lines_by_set

GROUPS = [0, 0, 0, 1, 1, 2]


def row(method: str, ranks: list[int], **values: Any) -> Row:
    classes = ["1", "3", "odd"]
    return ranking_row(method, ranks, groups=GROUPS, classes=classes, **values)


def two_lines() -> list[Line]:
    runs = [row("mean", [1, 4, 0, 1, 11, 2], seed=1), row("mean", [1, 1, 0, 2, 9, 2], seed=2)]
    floor = [row("frequency", [3, 4, 0, 8, 11, 0], seed=n) for n in (1, 2)]
    return lines_by_set([cell("mean", runs), cell("frequency", floor)])[UNKNOWN]


def texts(grid: Grid) -> list[list[str]]:
    return [[square.text for square in squares] for squares in grid.lines]


def test_numbers_by_hand() -> None:
    first, tenth = by_class_grids(UNKNOWN, two_lines(), title="t: by class", notes=["mine"])
    assert [g.title for g in (first, tenth)] == ["t: by class, top-1 %", "t: by class, top-10 %"]
    assert [c.heading for c in first.columns] == ["class", "reactions", "mean", "frequency"]
    assert texts(first) == [
        ["1 heteroatom alkylation and arylation", "3", "50.00 ± 23.57", "0.00"],
        ["3 C–C bond formation", "2", "25.00 ± 35.36", "0.00"],
        ["odd", "1", "0.00 ± 0.00", "0.00"],
    ]
    assert [cells[2:] for cells in texts(tenth)] == [
        ["66.67 ± 0.00", "66.67"], ["75.00 ± 35.36", "50.00"], ["100.00 ± 0.00", "0.00"],
    ]  # fmt: skip
    assert tenth.notes[-1] == "mine"
    assert not any(square.best for row in first.lines for square in row), "nothing is tested"


def test_numbers_for_files() -> None:
    first, tenth = by_class_grids(UNKNOWN, two_lines(), title="t")
    assert len(first.records) == 2 * 3
    assert (tenth.records, first.whole, tenth.whole) == ([], [], [])
    record = first.records[1]
    assert (record["label"], record["class"], record["reactions"]) == ("mean", "3", 2)
    assert record["published_top_10_mean"] == 75.0
    assert record["merged_top_1_std"] == pytest.approx(35.355, abs=1e-3)
    assert class_scores(two_lines()[0])["3"]["published_top_10_mean"] == 75.0


def test_no_classes_no_grids() -> None:
    lines = lines_by_set([cell("mean", [ranking_row("mean", [1, 2])])])[UNKNOWN]
    assert by_class_grids(UNKNOWN, lines, title="t") == []
    assert class_scores(lines[0]) == {}


def test_a_line_without_classes_and_one_with_others() -> None:
    other = ranking_row("max", [1, 1], groups=[0, 1], classes=["1", "new"])
    cells = [
        cell("mean", [row("mean", [1, 4, 0, 1, 11, 2])]), cell("gmt", [ranking_row("gmt", [1])]),
        cell("max", [other]),
    ]  # fmt: skip
    (grid, _) = by_class_grids(UNKNOWN, lines_by_set(cells)[UNKNOWN], title="t")
    assert [c.heading for c in grid.columns][2:] == ["mean", "max"]
    assert [cells[1:] for cells in texts(grid)] == [
        ["1 or 3", "33.33", "100.00"], ["2", "50.00", "–"], ["1", "–", "100.00"],
        ["1", "0.00", "–"],
    ], "numbers as numbers, then words"  # fmt: skip


@pytest.mark.parametrize(
    ("dataset", "name", "text"),
    [
        (UNKNOWN, "2", "2 acylation and related processes"),
        (GIVEN, "10", "10 functional group addition"),
        (UNKNOWN, "11", "11"), (UNKNOWN, "0", "0"), (UNKNOWN, "²", "²"), (UNKNOWN, "", ""),
        ("mine", "2", "2"),
    ],
)  # fmt: skip
def test_words_are_for_the_set_that_has_them(dataset: str, name: str, text: str) -> None:
    assert class_text(dataset, name) == text


def test_ten_comes_after_nine() -> None:
    cells = [cell("mean", [ranking_row("mean", [1, 1], groups=[0, 1], classes=["10", "9"])])]
    (grid, _) = by_class_grids("mine", lines_by_set(cells)[UNKNOWN], title="t")
    assert [cells[0] for cells in texts(grid)] == ["9", "10"]
