from __future__ import annotations

from comparison_cells import compared, empty, filled, like_the_paper
from html_outline import NAME, Outline
from report_rows import row

from gmpool.report.comparison_grid import comparison_grid
from gmpool.report.grid import Column, Grid, Picture, Square
from gmpool.report.render import render
from gmpool.report.summary import summarise, summary_grid


def test_one_self_contained_page_with_both_pictures() -> None:
    page = Outline(render("html", [comparison_grid(like_the_paper())], command="gmpool table x"))
    assert len(page.links) == 2
    assert all(link.startswith("data:image/png;base64,") for link in page.links)
    assert {"b", "u", "sup", "small"} <= set(page.tags)
    assert page.tags.count("tr") == 15
    assert page.tags.count("th") == 15 + 14
    assert {"gmpool table x", "a CPU", "abc", "sagpool-global"} <= set(page.text)
    assert any(text.startswith("underlined: ") for text in page.text)


def test_a_missing_diagram_has_its_reason() -> None:
    (cell,) = empty(("gmt",), ("MUTAG",))
    made = render("html", [comparison_grid(compared([cell], filled(cell, [80.0])))])
    assert len(Outline(made).links) == 1
    assert "here are 1 and 1." in made


def test_whatever_is_said_is_escaped() -> None:
    square = Square(NAME, NAME, best=True, best_corrected=True)
    column = Column(NAME, [square], NAME, left=True)
    picture = Picture(NAME, NAME, lambda: b"\x89PNG", NAME)
    named = Grid(NAME, [column, column], [NAME], NAME, facts=[(NAME, NAME)], pictures=[picture])
    for title, count in (("", 17), ("another", 16)):
        page = Outline(render("html", [named], title=title, command=NAME))
        assert "script" not in page.tags
        assert page.text.count(NAME) == count, "each in its place"


def test_the_title_is_the_first_that_there_is() -> None:
    runs = summary_grid(summarise([row()]))
    assert "<h1>Recorded runs</h1>" in render("html", [runs])
    assert "<h1>gmt on MUTAG</h1>" in render("html", [runs], title="gmt on MUTAG")


def test_a_fact_of_several_grids_is_said_once() -> None:
    grid = Grid("t", [], facts=[("device", "a CPU")])
    assert render("html", [grid, grid]).count("a CPU") == 1


def test_what_names_a_line_stays_in_sight() -> None:
    """The label, where all lines are of one set; else the first column."""
    names = [Column(name, [Square(f"a {name}")], left=True) for name in ("dataset", "label")]
    number = Column("label", [Square("7")])
    made = render("html", [Grid("", [*names, number])])
    assert made.count('class="left stays"') == 2
    assert '<th class="left stays">a label</th>' in made
    assert '<th class="left">a dataset</th>' in made
    made = render("html", [Grid("", [names[0], number])])
    assert '<th class="left stays">a dataset</th>' in made
