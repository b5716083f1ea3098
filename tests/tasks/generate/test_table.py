from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest
from generation_rows import bare_row, cell, generation_row, invented_cells
from html_outline import NAME, Outline
from rich.console import Console

from gmpool.errors import UserError
from gmpool.report.comparison import Cell
from gmpool.report.grid import Grid
from gmpool.report.render import render
from gmpool.report.render.terminal import terminal
from gmpool.tasks.generate.table import grids, summary

Curve = list[float | None]


def line(label: str, *runs: dict[str, Curve], method: str = "mean") -> Cell:
    return cell(label, [generation_row(method, run, seed=n) for n, run in enumerate(runs)])


def texts(grid: Grid, place: int = 0) -> dict[str, str]:
    """Of one line, by heading."""
    squares = grid.lines[place]
    return {c.heading: square.text for c, square in zip(grid.columns, squares, strict=True)}


def test_numbers_by_hand() -> None:
    runs: list[dict[str, Curve]] = [
        {"loose": [10, 30], "strict": [4, 20], "unique": [80, 50], "novel": [90, 60],
         "vun": [2.88, 6], "qed": [0.4, 0.5], "logp": [0, 1], "sa": [3, 4]},
        {"loose": [20, 40], "strict": [8, 10], "unique": [60, 30], "novel": [70, 50],
         "vun": [3.36, 1.5], "qed": [0.5, 0.3], "logp": [0, -1], "sa": [3, 5]},
    ]  # fmt: skip
    end, training, collapse, *tests = grids([line("mean", *runs)], "Mine")
    assert [g.title for g in (end, training, collapse)] == [
        "Mine: at the end", "Mine: over the training", "Mine: collapse",
    ]  # fmt: skip
    assert tests == [], "no two lines to test"
    assert texts(end) == {
        "method": "mean", "seeds": "2", "loose %": "35.00 ± 7.07", "strict %": "15.00 ± 7.07",
        "unique %": "40.00 ± 14.14", "novel %": "55.00 ± 7.07",
        "valid × unique × novel %": "3.75 ± 3.18", "QED": "0.40 ± 0.14", "logP": "0.00 ± 1.41",
        "SA": "4.50 ± 0.71",
    }  # fmt: skip
    assert texts(training) == {
        "method": "mean", "seeds": "2", "loose %": "25.00 ± 7.07", "strict %": "10.50 ± 2.12",
        "valid × unique × novel %": "3.43 ± 1.42", "best valid × unique × novel %": "4.68 ± 1.87",
    }  # fmt: skip
    assert not any(square.best for g in (end, training) for row in g.lines for square in row)


def test_the_best_and_those_not_significantly_worse_are_bold() -> None:
    def runs(*strict: float) -> list[dict[str, Curve]]:
        return [{"strict": [value], "loose": [90 - value], "unique": [value]} for value in strict]

    cells = [line("far", *runs(1, 2, 3)), line("best", *runs(10, 12, 14)),
             line("near", *runs(9, 11, 13))]  # fmt: skip
    end = grids(cells, "t")[0]
    bold = {c.heading: [square.best for square in c.squares] for c in end.columns}
    assert bold["strict %"] == [False, True, True]
    assert bold["loose %"] == [True, False, False]
    assert bold["unique %"] == [False] * 3, "of which more is not better by itself"
    assert any(note.startswith("bold: the best") for note in end.notes)


def test_all_lines_are_seen_at_the_last_iteration_of_all() -> None:
    cells = [line("a", {"strict": [1, 2, 60]}), line("b", {"strict": [3, 4]}, method="max")]
    end, training, collapse = grids(cells, "t")
    assert [texts(end, n)["strict %"] for n in (0, 1)] == ["2.00", "4.00"]
    assert [texts(training, n)["strict %"] for n in (0, 1)] == ["1.50", "3.50"]
    assert texts(collapse)["often valid"] == "0 of 1"
    said = "mean ± deviation over seeds at iteration 1,000, the last of all runs; some run went on"
    assert end.notes[0] == f"{said} to 1,500"


def test_runs_without_a_valid_molecule_have_no_part_in_shares_of_them() -> None:
    valid: dict[str, Curve] = {"unique": [40], "distinct": [5], "qed": [0.5], "vun": [2]}
    none: dict[str, Curve] = {"unique": [None], "distinct": [0], "qed": [None], "vun": [0]}
    end = grids([line("mean", valid, none), line("max", none, method="max")], "t")[0]
    assert (texts(end)["unique %"], texts(end)["valid × unique × novel %"]) == (
        "40.00", "1.00 ± 1.41",
    )  # fmt: skip
    assert (texts(end, 1)["unique %"], texts(end, 1)["QED"]) == ("–", "–")
    assert any(note.startswith("2 of 3 runs end without a valid molecule") for note in end.notes)
    assert end.records[1]["unique_mean"] is None
    whole = json.loads(render("json", [end]))
    assert whole[0]["runs"]["1"]["end"]["unique"] is None


def test_one_seed_has_no_deviation() -> None:
    end = grids([line("mean", {"strict": [2]}), line("sum", {"strict": [3]}, method="sum")], "t")[0]
    assert [texts(end, n)["strict %"] for n in (0, 1)] == ["2.00", "3.00"]
    assert [row[3].best for row in end.lines] == [False, True]


def test_rows_that_wait_for_scores_and_rows_on_other_data() -> None:
    rows = [generation_row("mean", {"strict": [2.0]}), bare_row("mean", 43, drawn={"packed": []})]
    shown = grids([cell("mean", rows, asked=5, left_out=3)], "t")
    assert texts(shown[0])["seeds"] == "1 of 5"
    for grid in shown:
        assert "1 run in all" in grid.notes
        assert any(note.startswith("1 more recorded without RDKit wait") for note in grid.notes)
        assert any(note.startswith("3 on other data") for note in grid.notes)


def test_where_rows_come_from() -> None:
    rows = [generation_row("mean", {"strict": [2.0]}, seed=n, source=None) for n in (1, 2)]
    end = grids([cell("mean", rows)], "t")[0]
    assert end.notes[-1] == "code: 2 runs of 1 commit, of which 2 do not say their source"
    assert ("device", "a CPU") in end.facts


def test_what_a_reader_must_know() -> None:
    notes = " ".join(grids(invented_cells(2, 2), "t")[0].notes)
    for said in ("RDKit accepts, of 13,319 draws", "one connected molecule", "distinct molecules, ",
                 "not in the training set", "GANs of this family collapse", "18 runs"):  # fmt: skip
        assert said in notes


def test_a_plan_not_all_run_and_sets_apart() -> None:
    ran = line("mean", {"strict": [2]})
    cells = [ran, Cell("max", "max", "QM9", 4, []), Cell("mean", "mean", "ZINC", 4, []),
             replace(ran, dataset="mine")]  # fmt: skip
    shown = grids(cells, "t")
    assert [g.title for g in shown[::3]] == ["t, QM9: at the end", "t, mine: at the end"]
    assert [g.title for g in grids(cells, "")[::3]] == ["QM9: at the end", "mine: at the end"]
    assert grids([ran], "")[0].title == "QM9: at the end"
    assert texts(shown[0], 1) == {**dict.fromkeys(texts(shown[0]), "–"), "method": "max",
                                  "seeds": "0 of 4"}  # fmt: skip


def test_a_store_without_plan() -> None:
    rows = [row for one in invented_cells(3, 2) for row in one.rows]
    other = replace(rows[0], task="classify")
    shown = summary([*rows[1:], other])
    assert len(shown) == 4
    assert shown[0].title == "Generated molecules: at the end"
    names = [square.text for square in shown[0].columns[0].squares]
    assert names[:2] == ["mean", "mean-wide"]
    assert {"gmpool (softmax=nodes)", "gmpool (softmax=seeds)"} < set(names)
    assert [square.text for square in shown[0].columns[1].squares][:2] == ["2 of 3", "3"]


def test_nothing_recorded() -> None:
    for empty in (lambda: grids([], "t"), lambda: summary([])):
        with pytest.raises(UserError, match="gmpool generate train or gmpool run molgan"):
            empty()
    with pytest.raises(UserError, match="has scores yet"):
        grids([Cell("mean", "mean", "QM9", 1, [bare_row("mean", drawn={})])], "t")


def test_training_without_rdkit_ends_with_a_word() -> None:
    (made,) = summary([bare_row("mean", drawn={}), bare_row("max", drawn={})])
    assert [square.text for square in made.columns[0].squares] == ["mean", "max"]
    assert "not scored yet" in made.notes[0]


def test_formats() -> None:
    cells = invented_cells(4, 3)
    made = grids([replace(cells[0], label=NAME), *cells[1:]], "MolGAN")
    text = io.StringIO()
    Console(file=text, width=70).print(terminal(made, 70))
    assert all(len(row) <= 70 for row in text.getvalue().splitlines())
    assert render("latex", made).isascii()
    page = Outline(render("html", made))
    assert page.tags.count("table") == 4
    assert "script" not in page.tags
    rows = list(csv.DictReader(io.StringIO(render("csv", made))))
    listed = json.loads(render("json", made))
    assert len(rows) == len(listed) == 9 + 10 * 4
    assert float(rows[0]["strict_mean"]) == listed[0]["strict_mean"]
    assert listed[-1]["part"] == "end"
