from __future__ import annotations

import pytest

from gmpool.report.grid import Column, Grid, Picture, Square


def test_lines_are_the_columns_side_by_side() -> None:
    a, b, c, d = map(Square, "abcd")
    grid = Grid("", [Column("left", [a, b], left=True), Column("right", [c, d])])
    assert grid.lines == [(a, c), (b, d)]
    with pytest.raises(ValueError, match="shorter"):
        _ = Grid("", [Column("left", [a, b]), Column("right", [c])]).lines


def test_marks_are_raised() -> None:
    assert Square("1", marks="fhid").raised == "ᶠʰⁱᵈ"


def test_a_picture_has_a_name_that_any_folder_takes() -> None:
    assert Picture("curves-a/b: (c)", "", lambda: None).file == "curves-a-b---c-.png"
