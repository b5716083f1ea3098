from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from html_outline import NAME, Outline
from ranking_rows import GIVEN, UNKNOWN, cell, invented_cells, ranking_row
from rich.console import Console

from gmpool.errors import UserError
from gmpool.report.comparison import Cell
from gmpool.report.grid import Grid
from gmpool.report.render import render
from gmpool.report.render.terminal import terminal
from gmpool.tasks.retrosynthesis.table import grids, summary
from gmpool.tasks.task import TASKS, Asked


def ranks(first: int, ten: int, of: int = 100) -> list[int]:
    """So many of them first, so many more in the first ten."""
    return [1] * first + [7] * ten + [0] * (of - first - ten)


def line(
    label: str, *firsts: int, method: str = "", dataset: str = UNKNOWN, asked: int | None = None
) -> Cell:
    """firsts: top-1 of each seed."""
    rows = [
        ranking_row(method or label, ranks(n, 20), seed=seed, dataset=dataset)
        for seed, n in enumerate(firsts, start=42)
    ]
    return cell(label, rows, asked=asked)


def texts(grid: Grid, place: int = 0) -> dict[str, str]:
    """Of one line, by heading."""
    squares = grid.lines[place]
    return {c.heading: square.text for c, square in zip(grid.columns, squares, strict=True)}


def below(grid: Grid, place: int) -> list[str]:
    return [square.small for square in grid.lines[place]]


def bold(grid: Grid, heading: str) -> list[bool]:
    (column,) = (c for c in grid.columns if c.heading == heading)
    return [square.best for square in column.squares]


def titles(made: Sequence[Grid]) -> list[str]:
    return [grid.title for grid in made]


def test_numbers_by_hand() -> None:
    rows = [
        ranking_row("mean", [1, 2, 4, 9, 0], merged=[1, 2, 3, 5, 0], seed=1),
        ranking_row("mean", [2, 2, 30, 60, 0], merged=[2, 2, 20, 40, 0], seed=2),
    ]
    published, merged = grids([cell("mean", rows)], "Mine")
    assert titles([published, merged]) == ["Mine: top-k", "Mine: top-k, duplicates merged"]
    assert texts(published) == {
        "method": "mean", "seeds": "2", "top-1 %": "10.00 ± 14.14", "top-3 %": "40.00 ± 0.00",
        "top-5 %": "50.00 ± 14.14", "top-10 %": "60.00 ± 28.28", "top-20 %": "60.00 ± 28.28",
        "top-50 %": "70.00 ± 14.14",
    }  # fmt: skip
    assert [texts(merged)[name] for name in ("top-1 %", "top-3 %", "top-20 %", "top-50 %")] == [
        "10.00 ± 14.14", "50.00 ± 14.14", "70.00 ± 14.14", "80.00 ± 0.00",
    ]  # fmt: skip
    assert not any(square.best for g in (published, merged) for row in g.lines for square in row)


def test_the_papers_numbers_stand_below_ours() -> None:
    cells = [line("mean", 50, 52), line("GMPool_1", 53, method="gmpool"), line("gmt", 51)]
    published, merged, *_ = grids(cells, "t")
    assert below(published, 0)[2:] == [
        "51.41, -0.41", "67.55, -16.55", "74.92, -23.92", "83.48, -12.48", "88.64, -17.64",
        "92.37, -21.37",
    ]  # fmt: skip
    assert below(published, 1)[2] == "51.83, +1.17"
    assert below(published, 2) == [""] * 8, "the paper's GMT is GMPool_1"
    assert not any(below(merged, 0)), "which the paper did not count"
    note = next(note for note in published.notes if note.startswith("beside or below"))
    assert "its GMT is GMPool_1" in note
    assert not any("paper's number" in note for note in merged.notes if "beside" in note)
    assert published.records[1]["paper_top_1"] == 51.83
    assert published.records[2]["paper_top_1"] is None


def test_the_paper_of_the_class_given_and_of_lines_that_wait() -> None:
    cells = [line("mean", 64, dataset=GIVEN), Cell("mincut", "mincut", GIVEN, 3, [])]
    published = grids(cells, "t")[0]
    assert below(published, 0)[2] == "63.53, +0.47"
    assert below(published, 1)[2:4] == ["63.91", "79.19"]
    assert texts(published, 1)["top-1 %"] == "–"
    assert texts(published, 1)["seeds"] == "0 of 3"


def test_own_sets_have_no_paper() -> None:
    made = grids([line("mean", 50, dataset="mine")], "t")
    assert not any(below(made[0], 0))
    assert not any("paper" in note for grid in made for note in grid.notes)


def test_the_best_and_those_not_significantly_worse_are_bold() -> None:
    cells = [
        line("mean", 20, 21, 22), line("mincut", 50, 52, 54), line("gmpool", 51, 53, 55),
        line("frequency", 10, 10, 10),
    ]  # fmt: skip
    published = grids(cells, "t")[0]
    assert bold(published, "top-1 %") == [False, True, True, False]
    assert any(note.startswith("bold: the best") for note in published.notes)
    alone = grids([line("mean", 20, 21)], "t")[0]
    assert bold(alone, "top-1 %") == [False]
    assert not any(note.startswith("bold") for note in alone.notes)


def test_one_seed_has_no_deviation_and_the_best_is_bold() -> None:
    published = grids([line("mean", 50), line("max", 52)], "t")[0]
    assert [texts(published, n)["top-1 %"] for n in (0, 1)] == ["50.00", "52.00"]
    assert bold(published, "top-1 %") == [False, True]


def test_the_floor_does_not_deviate() -> None:
    published = grids([line("mean", 50, 52), line("frequency", 20, 20)], "t")[0]
    assert texts(published, 1)["top-1 %"] == "20.00"
    assert sum("frequency learns nothing" in note for note in published.notes) == 1
    without = grids([line("mean", 50, 52)], "t")[0]
    assert not any("frequency" in note for note in without.notes)


def test_what_a_reader_must_know() -> None:
    cells = invented_cells(3, 5007, datasets=[UNKNOWN])
    published, merged, *_ = grids(cells, "t")
    for grid, words in (
        (published, ("an outcome of several templates is there several times",
                     "5,007 test reactions: drawn anew they would move a top-1 of 51 % by a "
                     "standard error of 0.7")),
        (merged, ("each outcome counts once",)),
    ):  # fmt: skip
        notes = " ".join(grid.notes)
        for said in (*words, "seen more often in training comes first", "18 runs in all",
                     "the epoch was chosen by top-1 of the validation part"):  # fmt: skip
            assert said in notes


def test_an_epoch_chosen_otherwise_is_not_said_to_be() -> None:
    one = line("mean", 50)
    train = {**one.rows[0].train, "select_by": "loss"}
    row = replace(one.rows[0], config={**one.rows[0].config, "train": train})
    notes = grids([replace(one, rows=[row])], "t")[0].notes
    assert not any("epoch" in note for note in notes)


def test_lines_on_other_numbers_of_reactions_share_no_error() -> None:
    small = cell("max", [ranking_row("max", ranks(5, 2, of=10))])
    notes = grids([line("mean", 50), small], "t")[0].notes
    assert not any("standard error" in note for note in notes)


def test_a_plan_not_all_run_and_sets_apart() -> None:
    cells = [
        line("mean", 50, asked=3), Cell("max", "max", UNKNOWN, 3, []),
        line("mean", 60, dataset=GIVEN), Cell("max", "max", GIVEN, 3, []),
        Cell("mean", "mean", "none yet", 3, []),
    ]  # fmt: skip
    made = grids(cells, "t")
    assert titles(made)[::2] == [f"t, {UNKNOWN}: top-k", f"t, {GIVEN}: top-k"]
    assert titles(grids(cells, ""))[0] == f"{UNKNOWN}: top-k"
    assert titles(grids(cells[:2], ""))[0] == f"{UNKNOWN}: top-k"
    assert texts(made[0])["seeds"] == "1 of 3"
    assert texts(made[0], 1) == {**dict.fromkeys(texts(made[0]), "–"), "method": "max",
                                 "seeds": "0 of 3"}  # fmt: skip


def test_rows_that_have_no_part_and_where_rows_come_from() -> None:
    one = line("mean", 50, 51)
    untested = replace(one.rows[0], seed=9, more={"retrosynthesis": {}})
    silent = [replace(row, source=None) for row in (*one.rows, untested)]
    made = grids([replace(one, rows=silent, left_out=4)], "t")
    for grid in made:
        assert "2 runs in all" in grid.notes
        assert "1 more had no test part" in grid.notes
        assert any(note.startswith("4 on other data") for note in grid.notes)
        assert grid.notes[-1] == "code: 2 runs of 1 commit, of which 2 do not say their source"
        assert ("device", "a CPU") in grid.facts


def test_all_grids_of_a_plan() -> None:
    made = grids(invented_cells(3, 200), "GLN")
    ends = ["top-k", "top-k, duplicates merged", "by class, top-1 %", "by class, top-10 %",
            "paired tests"]  # fmt: skip
    assert titles(made) == [f"GLN, {name}: {end}" for name in (UNKNOWN, GIVEN) for end in ends]


def test_a_store_without_plan() -> None:
    rows = [row for one in invented_cells(3, 50, datasets=[UNKNOWN]) for row in one.rows]
    other = replace(rows[0], task="classify")
    seeds = [
        ranking_row("gmpool", [1, 0], seed=n, pool={"softmax": "seeds"}, data_digest="e")
        for n in (1, 2)
    ]
    floor = [row for row in rows if row.method == "frequency"]
    kept = [row for row in rows if row.method != "frequency"]
    made = summary([*kept, floor[0], *seeds, other])
    assert made[0].title == "Ranked reactants: top-k"
    names = [square.text for square in made[0].columns[0].squares]
    assert names[:2] == ["mean", "mincut"]
    place = next(n for n, name in enumerate(names) if "softmax=seeds" in name)
    assert texts(made[0], place)["seeds"] == "2 of 3"
    assert below(made[0], place)[2] == "", "which the paper does not have"
    assert texts(made[0], names.index("frequency"))["seeds"] == "1", "all that it needs"


def test_nothing_recorded() -> None:
    for empty in (lambda: grids([], "t"), lambda: summary([])):
        with pytest.raises(UserError, match="gmpool retro train or gmpool run gln"):
            empty()


def test_the_task_makes_them_with_a_picture() -> None:
    cells = invented_cells(2, 40, methods=("mean", "gmpool"))
    task = TASKS["retrosynthesis"]
    made = task.grids(Asked("gln", "GLN", cells))
    assert titles(made) == titles(grids(cells, "GLN"))
    assert [picture.file for grid in made for picture in grid.pictures] == ["top-k.png"]
    rows = [row for one in cells for row in one.rows]
    assert titles(task.summary(rows)) == titles(summary(rows))
    assert TASKS["retrosynthesis-frequency"].family == task.family


def test_formats() -> None:
    cells = invented_cells(3, 60)
    made = grids([replace(cells[0], label=NAME), *cells[1:]], "GLN")
    text = io.StringIO()
    Console(file=text, width=70).print(terminal(made, 70))
    assert all(len(row) <= 70 for row in text.getvalue().splitlines())
    assert render("latex", made).isascii()
    page = Outline(render("html", made))
    assert page.tags.count("table") == len(made) == 10
    assert "script" not in page.tags
    rows = list(csv.DictReader(io.StringIO(render("csv", made))))
    listed = json.loads(render("json", made))
    pairs = 3 * 3
    assert len(rows) == 2 * (6 + 6 * 10 + pairs)
    assert len(listed) == 2 * (6 + pairs)
    assert rows[0]["label"] == listed[0]["label"] == NAME
    assert float(rows[0]["published_top_1_mean"]) == listed[0]["published_top_1_mean"]
    assert listed[0]["paper_top_1"] == 51.41
    assert (
        listed[0]["runs"]["42"]["merged"]
        == cells[0].rows[0].more["retrosynthesis"]["top"]["merged"]
    )
    assert listed[0]["by_class"]["10"]["reactions"] > 0
    assert listed[6]["score"] == "top-1"


@pytest.mark.parametrize("label", ["a\nb\x1b[31m", "$\\frac", "x" * 300, ""])
def test_hostile_labels(label: str) -> None:
    cells = invented_cells(3, 30, methods=("mean", "gmpool"), datasets=[UNKNOWN])
    made = grids([replace(cells[0], label=label), cells[1]], "t")
    for form in ("terminal", "html", "latex", "markdown"):
        assert "\x1b" not in render(form, made)
    assert json.loads(render("json", made))[0]["label"] == label, "data stay as they are"
