from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest
from html_outline import Outline
from reconstruction_rows import RATIOS, ZINC_METHODS, reconstruction_row, synthetic_rows, zinc_rows
from rich.console import Console

from gmpool.errors import UserError
from gmpool.record import Row
from gmpool.report.render import render
from gmpool.report.render.terminal import terminal
from gmpool.tasks.reconstruct.scores import Tally, tallies
from gmpool.tasks.reconstruct.table import error_text, grids

ZINC = tallies(zinc_rows())


def find(found: list[Tally], **wanted: object) -> Tally:
    (one,) = [t for t in found if all(getattr(t, k) == v for k, v in wanted.items())]
    return one


def test_means_and_deviations_over_seeds() -> None:
    rows = [
        reconstruction_row("gmt", {"accuracy": value}, seed=seed)
        for seed, value in ((1, 90.0), (2, 92.0), (3, 94.0))
    ]
    (one,) = tallies([*rows, rows[0], replace(rows[0], task="classify")])
    assert (one.mean, one.std, one.scores) == (92.0, 2.0, {1: 90.0, 2: 92.0, 3: 94.0})
    assert not one.incomplete
    assert tallies(rows, seeds=5)[0].incomplete


def test_every_line_ratio_and_metric_has_its_place() -> None:
    assert len(ZINC) == len(ZINC_METHODS) * len(RATIOS) * 4
    shown = grids(ZINC)
    assert [g.title for g in shown] == [
        "ZINC: validity (%)", "ZINC: exact match, atom types (%)",
        "ZINC: exact match, SMILES of elements (%)", "ZINC: accuracy of atom types (%)",
    ]  # fmt: skip
    for grid in shown:
        assert [c.heading for c in grid.columns][1:] == [f"ratio {r:g}" for r in RATIOS]
        label, *numbers = grid.columns
        names = [s.text for s in label.squares]
        assert names[-2:] == ["GMT", "random assignment"], "the paper's order, others last"
        assert all(c.squares[names.index("GMT")].best for c in numbers)


def test_the_best_and_those_not_significantly_worse() -> None:
    assert find(ZINC, method="gmt", ratio=0.25, metric="accuracy").verdict.comparable
    worse = find(ZINC, method="mincut", ratio=0.25, metric="accuracy").verdict
    assert not worse.comparable
    assert worse.p is not None
    assert worse.p < 1e-3
    errors = tallies(
        reconstruction_row(method, {"error_x": x}, dataset="ring")
        for method, x in (("gmt", 0.1), ("topk", 0.2))
    )
    assert find(errors, method="gmt").verdict.comparable, "of an error less is better"


def test_missing_seeds_and_scores_are_marked() -> None:
    rows = zinc_rows()
    rows = [row for row in rows if (row.method, row.seed) != ("topk", 44)]
    for row in rows:
        if row.method == "random":
            row.more["scores"]["validity"] = None
    validity, types, *_ = grids(tallies(rows))
    marks = {s.text: n.marks for s, n in zip(*(c.squares for c in types.columns[:2]), strict=True)}
    assert marks["TopKPool"] == "i"
    assert marks["GMT"] == ""
    assert "ⁱ: fewer seeds than the others have" in " ".join(types.notes)
    assert "random assignment" not in [s.text for s in validity.columns[0].squares]


def test_other_settings_and_other_data_are_other_lines() -> None:
    def labels(*rows: Row) -> list[str]:
        return [t.label for t in tallies(rows)]

    def row(**model: object) -> Row:
        return reconstruction_row("gmt", {"accuracy": 1.0}, **model)

    assert labels(row(pool={"layer_norm": True})) == ["GMT"], "nothing to tell it from"
    assert labels(row(), row(decoder_layers=2)) == ["GMT", "GMT (decoder_layers=2)"]
    assert labels(row(), replace(row(), key="2", data_digest="e" * 64)) == [
        "GMT (data=dddddddd)", "GMT (data=eeeeeeee)",
    ]  # fmt: skip
    assert labels(row(ratio=0.1, hidden_dim=8), row(ratio=0.2)) == ["GMT", "GMT"]
    plain = reconstruction_row("mincut", {"accuracy": 1.0}, pool={"normalise": False})
    assert labels(plain) == ["MinCutPool (normalise=False)"]


def test_synthetic_errors_stand_beside_the_papers() -> None:
    grid, ring = grids(tallies(synthetic_rows()))
    assert (grid.title, ring.title) == ("grid: errors", "ring: errors")
    assert [c.heading for c in ring.columns[1:]] == [
        "min X: error of X", "min X: error of A", "min A: error of X", "min A: error of A",
    ]  # fmt: skip
    names = [s.text for s in ring.columns[0].squares]
    beside = {n: [c.squares[i].small for c in ring.columns[1:]] for i, n in enumerate(names)}
    assert beside["GMT"] == ["0.0000", "0.0331", "0.5475", "0.0324"]
    assert beside["MinCutPool (normalise=False)"] == ["0.0003", "68.2300", "0.5211", "0.0725"]
    assert beside["TopKPool"] == [""] * 4
    assert grid.columns[2].squares[names.index("DiffPool")].small == "12,110,194"
    other_ratio = tallies([reconstruction_row("gmt", {"error_x": 0.1}, dataset="ring", ratio=0.1)])
    assert other_ratio[0].paper is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0000"),
        (3e-5, "3.0e-05"),
        (1.2e-4, "0.0001"),
        (68.23, "68.2300"),
        (1e6, "1,000,000"),
    ],
)
def test_errors_are_written_as_the_paper_has_them_or_better(value: float, text: str) -> None:
    assert error_text(value) == text


def test_formats() -> None:
    found = tallies(zinc_rows() + synthetic_rows())
    made = grids(found, zinc_rows())
    assert not made[-1].notes[-1].startswith("code: "), "of ring no rows were given"
    assert made[2].notes[-1].startswith("code: 120 runs of 1 commit")
    text = io.StringIO()
    Console(file=text, width=60).print(terminal(made, 60))
    assert "ZINC: validity (%)" in text.getvalue()
    assert all(len(line) <= 60 for line in text.getvalue().splitlines())
    markdown, latex = render("markdown", made), render("latex", made)
    assert markdown.count("| method |") == 6
    assert "| GMT | **3.0e-05** (paper 0.0000) |" in markdown
    assert latex.count(r"\begin{tabular}") == 6
    assert latex.isascii(), "so that it compiles"
    page = Outline(render("html", made, title="Reconstructions"))
    assert page.tags.count("table") == 6
    assert {"ZINC: validity (%)", "ring: errors", "random assignment", "a CPU"} <= set(page.text)
    rows = list(csv.DictReader(io.StringIO(render("csv", made))))
    listed = json.loads(render("json", made))
    assert len(rows) == len(listed) == len(found)
    assert [float(r["mean"]) for r in rows] == [t["mean"] for t in listed]
    assert [t["mean"] for t in listed] == [t.mean for t in found], "in their order"
    gmt = find(found, dataset="ring", method="gmt", objective="x", metric="error_x").to_json()
    assert (gmt["paper"], gmt["seeds"], gmt["scores"]) == (0.0, 1, {"42": 0.00003})


def test_nothing_recorded() -> None:
    with pytest.raises(UserError, match="no reconstruction is recorded there"):
        grids(tallies([]))
