"""The worst mistakes, from rows to lines and cards."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from report_rows import row

from gmpool.record import Row
from gmpool.report.grid import Grid
from gmpool.report.mistake_grid import EACH, FEWEST, MOST_SHOWN, mistake_grids, worst

NUMBERS = [
    {"label": "logP", "graph": 3, "truth": 1.0, "said": 4.5},
    {"label": "logP", "graph": 5, "truth": 0.5, "said": -1.5},
]
ANSWER = {"label": "toxic", "graph": 0, "truth": "no", "said": "yes"}


def grid_of(*rows: Row) -> Grid:
    (grid,) = mistake_grids([("own", "gmt", rows)])
    return grid


def texts(grid: Grid) -> list[list[str]]:
    return [[c.heading for c in grid.columns], *([s.text for s in line] for line in grid.lines)]


def many(count: int, label: str) -> list[dict[str, Any]]:
    return [{"label": label, "graph": n, "truth": 0.0, "said": n + 1.0} for n in range(count)]


def test_numbers_and_by_how_much_they_are_off() -> None:
    grid = grid_of(row(mistakes=NUMBERS))
    assert grid.title == "Worst mistakes: gmt on own"
    assert texts(grid) == [
        ["graph", "truth", "prediction", "error"],
        ["graph 3", "1.00", "4.50", "+3.50"],
        ["graph 5", "0.500", "-1.50", "-2.00"],
    ]
    assert grid.notes == [
        "the test graphs with the largest errors, of each label column the worst first"
    ]
    assert not grid.cards, "without molecules there is nothing to draw"


def test_answers_and_how_sure_they_were() -> None:
    """What is nearly sure is not sure."""
    graphs = [
        {**ANSWER, "probability": 0.99996, "deviation": 0.125},
        {**ANSWER, "graph": 1, "probability": 0.51},
    ]
    grid = grid_of(row(mistakes=graphs))
    assert texts(grid) == [
        ["graph", "truth", "prediction", "probability", "deviation"],
        ["graph 0", "no", "yes", "> 99.9 %", "12.5 %"],
        ["graph 1", "no", "yes", "51.0 %", "–"],
    ]
    assert grid.notes == [
        "the wrong answers to test graphs of which the model was surest; probability: of what was "
        "predicted",
        "deviation: of the probabilities of the members",
    ]
    assert grid_of(row(mistakes=[ANSWER])).notes == ["wrong answers to test graphs"]


def test_molecules_are_drawn_and_what_cannot_be_drawn_has_its_line() -> None:
    pytest.importorskip("rdkit")
    known = {"line": 1234, "smiles": "CCO", "deviation": 0.25}
    changed = {**NUMBERS[1], "line": 7, "smiles": "no molecule"}
    grid = grid_of(row(mistakes=[{**NUMBERS[0], **known}, changed, ANSWER]))
    assert texts(grid)[:2] == [
        ["label", "molecule", "place", "truth", "prediction", "error", "deviation", "graph"],
        ["logP", "CCO", "line 1,234", "1.00", "4.50", "+3.50", "0.250", "–"],
    ]
    first, second, third = grid.cards
    assert (first.heading, first.caption) == ("logP", "CCO")
    assert first.facts == [
        ("place", "line 1,234"), ("truth", "1.00"), ("prediction", "4.50"), ("error", "+3.50"),
        ("deviation", "0.250"),
    ]  # fmt: skip
    assert b"<svg" in base64.b64decode(first.draw() or "")
    assert second.draw() is None
    assert (third.caption, third.draw()) == ("graph 0", None)
    assert "deviation: what the ensemble expected of its error" in grid.notes


def test_each_graph_is_there_once_as_in_its_worst_run() -> None:
    worse = {**NUMBERS[1], "said": 6.5}
    other_label = {**NUMBERS[0], "label": "mass"}
    rows = [
        row(seed=1, mistakes=NUMBERS),
        row(seed=2, mistakes=[worse]),
        row(seed=2, fold=2, mistakes=[other_label]),
    ]
    found = worst(rows)
    assert {name: [(m.graph, m.error, n) for m, n in of] for name, of in found.items()} == {
        "logP": [(5, 6.0, 2), (3, 3.5, 1)],
        "mass": [(3, 3.5, 1)],
    }
    grid = grid_of(*rows)
    assert [line[-1] for line in texts(grid)] == ["seeds", "2 of 2", "1 of 2", "1 of 2"]
    assert grid.notes[-1].endswith("seeds: of how many it is among the worst")


def test_a_page_has_room_for_so_many() -> None:
    (line,) = mistake_grids([("own", "gmt", [row(mistakes=many(20, "p"))])])
    assert [shown[2] for shown in texts(line)[1:]] == [f"{20 - n}.0" for n in range(11)] + ["9.00"]
    assert len(line.lines) == EACH
    wide = [row(seed=n, mistakes=many(5, f"p{n}")) for n in range(20)]
    found = mistake_grids([("own", "one", wide), ("own", "two", wide)])
    assert [grid.title for grid in found] == ["Worst mistakes: one on own"]
    assert len(found[0].lines) == MOST_SHOWN
    assert found[0].notes[-2:] == [
        f"the first {MOST_SHOWN // FEWEST} of 20 label columns",
        "lines without room on the page: 1",
    ]


def test_rows_without_mistakes_have_no_grid() -> None:
    assert mistake_grids([("own", "gmt", [row(), row(seed=43, mistakes=[])])]) == []
