from __future__ import annotations

import io

import pytest
from plan_rows import like_the_paper, plan, recorded
from rich.console import Console

from gmpool.engine.cell import Line
from gmpool.report.comparison import Comparison, compare
from gmpool.report.grid import columns, notes
from gmpool.report.grid_text import markdown, terminal

WHOLE = compare(*like_the_paper())
PLAN = plan(("gmt", "mean"))
GMT, _, MEAN, _ = PLAN.cells()
PARTLY = compare(PLAN, recorded(GMT, [80.0, 90.0]) + recorded(MEAN, [60.0], [62.0]))


def printed(comparison: Comparison, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(terminal(comparison, width))
    return console.file.getvalue()


def test_every_line_and_set_has_its_place() -> None:
    grid = columns(WHOLE)
    assert [c.heading for c in grid] == [
        "method", *WHOLE.datasets, "best or comparable", "average rank", "parameters", "time",
    ]  # fmt: skip
    assert all(len(c.squares) == 14 for c in grid)


def test_marks_and_numbers_of_squares() -> None:
    gmt, mean = columns(PARTLY)[1].squares
    assert (gmt.text, gmt.small, gmt.marks) == ("85.00 ± 7.07", "83.44 ± 1.33, +1.56", "fi")
    assert (mean.text, mean.marks, mean.best) == ("61.00 ± 1.41", "i", False)
    empty, _ = columns(PARTLY)[2].squares
    assert (empty.text, empty.small, empty.marks) == ("–", "78.72 ± 0.59", "")


def test_notes_explain_every_mark_and_only_those() -> None:
    said = "\n".join(notes(PARTLY))
    for word in ("4 of 16 runs", "paper's number (test)", "ᶠ: one seed", "ⁱ: fewer runs"):
        assert word in said
    assert "significance needs at least two seeds" in said
    assert "Welch" not in said, "nothing was tested"
    assert "ʰ" not in said
    said = "\n".join(notes(WHOLE))
    for word in ("Welch", "ʰ: not significantly worse", "Friedman", "MUTAG, ogbg-molbbbp"):
        assert word in said
    for word in ("ᶠ", "ⁱ", "ᵈ", "needs at least two", "less than half the seeds"):
        assert word not in said


def test_who_has_too_few_seeds_is_neither_best_nor_forgotten() -> None:
    asked = plan(("gmt", "mean", "gin"), ("MUTAG",), seeds=6, folds=1)
    gmt, mean, gin = asked.cells()
    many = [[80.0], [81.0], [82.0], [80.0], [81.0], [82.0]]
    rows = recorded(gmt, *many) + recorded(mean, *many[:3]) + recorded(gin, [90.0], [90.1])
    found = compare(asked, rows)
    assert [square.best for square in columns(found)[1].squares] == [True, True, False]
    assert "a line with less than half the seeds of another" in "\n".join(notes(found))


def test_rows_on_other_data_are_mentioned() -> None:
    other = recorded(GMT, [1.0])
    other[0]["data_digest"] = "other"
    found = compare(PLAN, recorded(GMT, [80.0], [81.0]) + other)
    assert columns(found)[1].squares[0].marks == "id"
    assert any(note.startswith("ᵈ") for note in notes(found))


def test_parameters_are_a_range_where_sets_differ() -> None:
    counts = columns(WHOLE)[-2].squares
    assert counts[0].text == "100,000 – 190,000"
    assert columns(PARTLY)[-2].squares[0].text == "12,345"


def test_no_difference_of_minus_zero() -> None:
    found = compare(plan(("gmt",), ("MUTAG",)), recorded(GMT, [83.439], [83.4399]))
    assert columns(found)[1].squares[0].small.endswith(", +0.00")


@pytest.mark.parametrize("width", [200, 80, 45])
def test_a_narrow_terminal_gets_more_tables_and_loses_nothing(width: int) -> None:
    text = printed(WHOLE, width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    for column in columns(WHOLE)[1:]:
        assert column.heading in text
        for square in column.squares:
            assert square.text in text
            assert square.small in text


def test_the_best_have_a_star_where_bold_is_lost() -> None:
    line = next(x for x in printed(WHOLE, 200).splitlines() if x.strip().startswith("gmt"))
    assert line.count("*") == sum(c.squares[-1].best for c in columns(WHOLE)[1:9])


def test_markdown() -> None:
    lines = markdown(PARTLY).splitlines()
    assert lines[0] == "## A small plan"
    assert lines[2].startswith("| method | MUTAG (accuracy %) | DD |")
    assert "| **85.00 ± 7.07**ᶠⁱ (paper 83.44 ± 1.33, +1.56) | – (paper 78.72 ± 0.59) |" in lines[4]
    assert len({line.count("|") for line in lines if line.startswith("|")}) == 1


def test_names_do_not_break_a_table() -> None:
    table = plan((Line("a|b*[/c]", "gmt", {}),), ("MUTAG",))
    found = compare(table, recorded(*table.cells(), [80.0]))
    assert r"| a\|b\*[/c] |" in markdown(found)
    assert "a|b*[/c]" in printed(found, 200)
