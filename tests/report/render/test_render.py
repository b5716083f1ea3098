from __future__ import annotations

import pytest
from report_rows import row

from gmpool.errors import UserError
from gmpool.report.grid import Column, Grid, Square
from gmpool.report.render import FORMS, render
from gmpool.report.summary import summarise, summary_grid

GRID = summary_grid(summarise([row()]))


def test_every_form_shows_every_grid() -> None:
    assert set(FORMS) == {"terminal", "markdown", "latex", "csv", "json", "html"}
    for name in FORMS:
        text = render(name, [GRID], title="t", command="c")
        assert "MUTAG" in text
        assert "83.44" in text
        assert text.endswith("\n")


def test_each_has_its_suffix() -> None:
    suffixes = [FORMS[name].suffix for name in FORMS]
    assert len(set(suffixes)) == len(suffixes)
    assert all(suffix.startswith(".") for suffix in suffixes)


def test_an_unknown_form_is_named() -> None:
    with pytest.raises(UserError, match="unknown format 'markdwon'; did you mean 'markdown'"):
        render("markdwon", [GRID])


@pytest.mark.parametrize("form", ["terminal", "markdown", "latex", "html"])
def test_no_control_character_is_left_for_a_reader(form: str) -> None:
    bad = "a\x1b[2J\nb"
    named = Grid(bad, [Column(bad, [Square(bad, bad)], bad, left=True)], [bad], facts=[(bad, bad)])
    text = render(form, [named], title=bad, command=bad)
    assert "\x1b" not in text
    assert "[2J\nb" not in text
