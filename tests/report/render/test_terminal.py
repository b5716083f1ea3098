from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from comparison_cells import like_the_paper
from report_rows import row
from rich.console import Console

from gmpool.report.comparison_grid import comparison_grid
from gmpool.report.grid import Column, Grid, Square
from gmpool.report.render import render
from gmpool.report.render.terminal import terminal
from gmpool.report.summary import summarise, summary_grid

WHOLE = comparison_grid(like_the_paper())
RUNS = summary_grid(
    summarise(
        [row(fold=1, test=80.0), row(fold=2, test=90.0), row(dataset="x[/b]|y", metric="rmse")]
    )
)


def printed(grids: Sequence[Grid], width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(terminal(grids, width))
    return console.file.getvalue()


@pytest.mark.parametrize("width", [200, 80, 45])
def test_a_narrow_terminal_gets_more_tables_and_loses_nothing(width: int) -> None:
    text = printed([WHOLE], width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    for column in WHOLE.columns[1:]:
        assert column.heading in text
        for square in column.squares:
            assert square.text in text
            assert square.small in text


@pytest.mark.parametrize("width", [200, 95, 45])
def test_runs_lose_columns_and_then_stand_upright(width: int) -> None:
    """All columns, then the essential ones, then blocks that have all again."""
    text = printed([RUNS], width)
    for column in RUNS.columns:
        if column.essential or width != 95:
            assert column.heading in text
            assert all(square.text in text for square in column.squares), column.heading
        else:
            assert column.heading not in text
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    assert (len([line for line in text.splitlines() if "dataset" in line]) == 1) == (width > 45)


def test_the_metric_stays_on_a_narrow_terminal() -> None:
    own = summary_grid(summarise([row(dataset="mine")]))
    text = printed([own], 60)
    assert "accuracy %" in text
    assert "paper" not in text
    assert "epochs" not in text


def test_the_best_have_a_star_where_bold_is_lost() -> None:
    text = printed([WHOLE], 200)
    line = next(x for x in text.splitlines() if x.strip().startswith("gmt"))
    assert line.count("*") == sum(c.squares[-1].best for c in WHOLE.columns[1:9])
    assert "*: bold" in text
    assert "*" not in printed([RUNS], 200)


def test_headings_have_a_second_line_where_one_is_needed() -> None:
    def heading(small: str) -> list[str]:
        label = Column("method", [Square("gmt")], left=True)
        grid = Grid("", [label, Column("MUTAG", [Square("80")], small)])
        return [line.rstrip() for line in printed([grid], 80).splitlines()]

    assert heading("")[0] == " method   MUTAG"
    assert heading("%")[:2] == ["          MUTAG", " method       %"]


def test_names_are_no_markup() -> None:
    named = Grid("a|b*[/c]", [Column("[/d]", [Square("e|f*[/g]")], left=True)], ["[/h]"])
    text = printed([named], 200)
    for name in ("a|b*[/c]", "[/d]", "e|f*[/g]", "[/h]"):
        assert name in text


def test_several_grids_stand_apart_and_a_file_has_room() -> None:
    text = render("terminal", [WHOLE, RUNS])
    assert text == printed([WHOLE, RUNS], 200)
    assert "\n\n dataset" in text


@pytest.mark.parametrize(("width", "tables"), [(120, 1), (80, 1), (60, 2), (45, 2), (30, 3)])
def test_scores_of_labels_break_into_tables_that_keep_every_column(width: int, tables: int) -> None:
    """Each with the labels; a column of which the lines are alike goes first."""
    labels = [
        Column("dataset", [Square("a set"), Square("a set")], left=True, essential=False),
        Column("label", [Square("logP"), Square("mass")], left=True),
    ]
    numbers = [
        Column(f"score{n}", [Square(f"{n}.25"), Square(f"{n}.75", f"{n}0 to {n}9")], f"at {n} %")
        for n in range(1, 7)
    ]
    text = printed([Grid("Scores", [*labels, *numbers], ["a note"])], width)
    assert text.count("logP") == text.count("mass") == tables
    assert ("a set" in text) == (width == 120)
    for column in numbers:
        for said in (column.heading, column.small, *(s.text for s in column.squares)):
            assert text.count(said) == 1, said
        assert column.squares[1].small in text
    assert max(map(len, text.splitlines())) <= width
