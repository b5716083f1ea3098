from __future__ import annotations

from dataclasses import replace

import pytest
from comparison_cells import compared, empty, filled, like_the_paper

from gmpool.report.comparison_grid import comparison_grid

WHOLE = like_the_paper()
GRID = comparison_grid(WHOLE)
CELLS = empty()
GMT, _, MEAN, _ = CELLS
PARTLY = comparison_grid(compared(CELLS, filled(GMT, [80.0, 90.0]), filled(MEAN, [60.0], [62.0])))
TESTED = comparison_grid(
    compared(CELLS, filled(GMT, [80.0, 90.0], [83.0, 84.0]), filled(MEAN, [60.0], [62.0]))
)


def test_every_line_and_set_has_its_place() -> None:
    assert [c.heading for c in GRID.columns] == [
        "method", *WHOLE.datasets, "best or comparable", "average rank", "parameters", "time",
    ]  # fmt: skip
    assert all(len(c.squares) == 14 for c in GRID.columns)
    assert [c.left for c in GRID.columns] == [True] + [False] * 14
    assert all(c.essential for c in GRID.columns)
    assert GRID.title == "A small plan"


def test_marks_and_numbers_of_squares() -> None:
    gmt, mean = PARTLY.columns[1].squares
    assert (gmt.text, gmt.small, gmt.marks) == ("85.00 ± 7.07", "83.44 ± 1.33, +1.56", "fi")
    assert (mean.text, mean.marks, mean.best) == ("61.00 ± 1.41", "i", False)
    empty_square, _ = PARTLY.columns[2].squares
    assert (empty_square.text, empty_square.small, empty_square.marks) == (
        "–", "78.72 ± 0.59", "",
    )  # fmt: skip
    assert [(c.heading, c.small) for c in PARTLY.columns[1:3]] == [
        ("MUTAG", "accuracy %"), ("DD", ""),
    ]  # fmt: skip


def test_notes_explain_every_mark_and_only_those() -> None:
    said = "\n".join(PARTLY.notes)
    for word in ("4 of 16 runs", "paper's number (test)"):
        assert word in said
    for word in ("ᶠ: one seed", "ⁱ: fewer runs", "significance needs at least two seeds"):
        assert word in said
    assert "Welch" not in said, "nothing was tested"
    assert "ʰ" not in said
    assert PARTLY.underlined == ""
    said = "\n".join(GRID.notes)
    for word in ("Welch", "ʰ: not significantly worse", "Friedman", "MUTAG, ogbg-molbbbp"):
        assert word in said
    for word in ("ᶠ", "ⁱ", "ᵈ", "needs at least two", "less than half the seeds"):
        assert word not in said
    assert "Holm's correction" in GRID.underlined


def test_who_has_too_few_seeds_is_neither_best_nor_forgotten() -> None:
    asked = empty(("gmt", "mean", "gin"), ("MUTAG",), asked=6)
    gmt, mean, gin = asked
    many = [[80.0], [81.0], [82.0], [80.0], [81.0], [82.0]]
    known = filled(gmt, *many), filled(mean, *many[:3]), filled(gin, [90.0], [90.1])
    found = comparison_grid(compared(asked, *known))
    assert [square.best for square in found.columns[1].squares] == [True, True, False]
    assert "a line with less than half the seeds of another" in "\n".join(found.notes)


def test_rows_on_other_data_are_mentioned() -> None:
    found = comparison_grid(compared(CELLS, replace(filled(GMT, [80.0], [81.0]), left_out=1)))
    assert found.columns[1].squares[0].marks == "id"
    assert any(note.startswith("ᵈ") for note in found.notes)


def test_parameters_are_a_range_where_sets_differ() -> None:
    assert GRID.columns[-2].squares[0].text == "100,000 – 190,000"
    assert PARTLY.columns[-2].squares[0].text == "12,345"


def test_no_difference_of_minus_zero() -> None:
    found = comparison_grid(compared([GMT], filled(GMT, [83.439], [83.4399])))
    assert found.columns[1].squares[0].small.endswith(", +0.00")


def test_a_record_per_line_and_set_with_plain_numbers() -> None:
    assert [(r["line"], r["dataset"]) for r in TESTED.records] == [
        ("gmt", "MUTAG"), ("gmt", "DD"), ("mean", "MUTAG"), ("mean", "DD"),
    ]  # fmt: skip
    gmt, nothing, mean, _ = TESTED.records
    assert (gmt["mean"], gmt["runs"], gmt["asked"]) == (84.25, 4, 4)
    assert (gmt["incomplete"], gmt["best_or_comparable"], gmt["tested"]) == (False, True, True)
    assert gmt["difference"] == pytest.approx(84.25 - 83.44)
    assert 0 < mean["p"] < 0.05
    assert (mean["runs"], mean["incomplete"]) == (2, True)
    assert (nothing["mean"], nothing["runs"], nothing["paper_mean"]) == (None, 0, 78.72)


def test_the_whole_has_what_is_known_over_all_sets() -> None:
    found = GRID.whole
    assert isinstance(found, dict)
    assert len(found["cells"]) == 140
    assert found["lines"][-1]["paper_best_or_comparable"] == "10/10"
    assert found["critical_difference"] == pytest.approx(9.92, abs=0.01)
    assert found["ranked_on"] == ("MUTAG", "ogbg-molbbbp", "IMDB-BINARY", "IMDB-MULTI")
    assert isinstance(TESTED.whole, dict)
    assert TESTED.whole["friedman_p"] is None


def test_pictures_are_drawn_when_asked_for() -> None:
    intervals, diagram = GRID.pictures
    assert (intervals.file, diagram.file) == ("intervals.png", "critical-difference.png")
    for picture in (intervals, diagram):
        png = picture.draw()
        assert png is not None
        assert png.startswith(b"\x89PNG")
    assert "Nemenyi" in diagram.note
    _, none = PARTLY.pictures
    assert none.draw() is None
    assert "here are 1 and 2." in none.note


def test_where_the_rows_come_from() -> None:
    assert ("device", "a CPU") in GRID.facts
    assert GRID.notes[-1].startswith("code: 1,330 runs of 1 commit, of which 1,330 do not say")
