from __future__ import annotations

from comparison_cells import compared, empty, filled
from report_rows import row

from gmpool.report.comparison_grid import comparison_grid
from gmpool.report.grid import Column, Grid, Square
from gmpool.report.render import render
from gmpool.report.summary import summarise, summary_grid

CELLS = empty()
PARTLY = comparison_grid(
    compared(CELLS, filled(CELLS[0], [80.0, 90.0]), filled(CELLS[2], [60.0], [62.0]))
)
RUNS = summary_grid(summarise([row(), row(fold=2, test=90.0), row(dataset="x|y", metric="rmse")]))


def test_a_comparison() -> None:
    lines = render("markdown", [PARTLY]).splitlines()
    assert lines[0] == "## A small plan"
    assert lines[2].startswith("| method | MUTAG (accuracy %) | DD |")
    assert lines[3].startswith("| --- | ---: |")
    assert "| **85.00 ± 7.07**ᶠⁱ (paper 83.44 ± 1.33, +1.56) | – (paper 78.72 ± 0.59) |" in lines[4]
    assert len({line.count("|") for line in lines if line.startswith("|")}) == 1
    assert "- ᶠ: one seed only, the deviation is over folds" in lines


def test_the_runs_of_a_store_are_a_plain_table() -> None:
    lines = render("markdown", [RUNS]).splitlines()
    assert lines[0] == "| " + " | ".join(c.heading for c in RUNS.columns) + " |"
    assert lines[1] == "|" + " --- |" * 3 + " ---: |" * 8
    assert lines[2] == "| " + " | ".join(c.squares[0].text for c in RUNS.columns) + " |"
    assert lines[-1] == "; ".join(RUNS.notes)


def test_names_do_not_break_a_table() -> None:
    (line,) = [line for line in render("markdown", [RUNS]).splitlines() if "rmse" in line]
    assert line.replace(r"\|", "").count("|") == len(RUNS.columns) + 1
    named = Grid("t", [Column("a|b*", [Square("c|d*[/e]")], left=True)], ["f|g*"])
    text = render("markdown", [named])
    for word in (r"| a\|b\* |", r"| c\|d\*[/e] |", r"- f\|g\*"):
        assert word in text


def test_grids_follow_each_other() -> None:
    text = render("markdown", [PARTLY, PARTLY])
    assert text.count("## A small plan\n\n|") == 2
    assert "\n\n## A small plan" in text


def test_nothing_in_a_name_is_html_a_link_or_code() -> None:
    name = "<script>a</script> [x](javascript:b) `c` \\d &lt; p < 0.05"
    (line,) = [
        line
        for line in render("markdown", [Grid("", [Column("a", [Square(name)])])]).splitlines()
        if "script" in line
    ]
    assert line == (
        "| &lt;script>a&lt;/script> [x]\\(javascript:b) \\`c\\` \\\\d &amp;lt; p < 0.05 |"
    )
