"""Tables of recorded reconstructions: a row per line, a column per objective, error and ratio."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType

from gmpool.errors import UserError
from gmpool.report.grid import NONE, Column, Square
from gmpool.report.grid_text import markdown_grid, terminal_grid
from gmpool.report.latex import latex_grid
from gmpool.tasks.reconstruct.scores import METRICS, PAPER_RATIO, Tally

# What a reader must know of a metric to compare it with another publication.
_MEANS = {
    "validity": "validity: RDKit accepts the molecule with the charges and hydrogens of its types",
    "exact_types": "exact match, atom types: every atom has its type back",
    "exact_smiles": "exact match, SMILES of elements: the same canonical SMILES when charges and "
    "hydrogens are left out (the published sense, which is looser)",
    "error_x": "error of X: mean squared error of the node features",
    "error_a": "error of A: mean over the n² entries of (A − A_rec)², mean over graphs",
}


@dataclass(frozen=True)
class Grid:
    """One table, whatever shows it."""

    title: str
    columns: list[Column]
    notes: list[str]


def grids(tallied: Sequence[Tally], *, bold: str = "bold") -> list[Grid]:
    """For each set one grid per share in percent, with a column per ratio, and one for all errors.

    bold: how the best are shown.
    """
    if not tallied:
        raise UserError("no reconstruction is recorded there; gmpool reconstruct records some")
    made = []
    for dataset in dict.fromkeys(t.dataset for t in tallied):
        of_set = [t for t in tallied if t.dataset == dataset]
        for metric, (title, percent) in METRICS.items():
            shown = [t for t in of_set if t.metric == metric]
            if percent and shown:
                made.append(_grid(f"{dataset}: {title} (%)", shown, bold))
        if errors := [t for t in of_set if not METRICS[t.metric].percent]:
            made.append(_grid(f"{dataset}: errors", errors, bold))
    return made


def _grid(title: str, shown: Sequence[Tally], bold: str) -> Grid:
    lines = list(dict.fromkeys(t.label for t in shown))
    percent = METRICS[shown[0].metric].percent
    order = list(METRICS)
    keys = sorted(
        {(t.objective, t.metric, t.ratio) for t in shown},
        key=lambda key: (key[0] != "x", order.index(key[1]), key[2]),
    )
    several = len({objective for objective, *_ in keys}) > 1
    columns = [Column("method", [Square(label) for label in lines])]
    for objective, metric, ratio in keys:
        at = {
            t.label: t
            for t in shown
            if (t.objective, t.metric, t.ratio) == (objective, metric, ratio)
        }
        of = f"min {objective.upper()}"
        head, small = f"ratio {ratio:g}", of if several else ""
        if not percent:
            head, small = f"{of}: {METRICS[metric].title}", f"ratio {ratio:g}"
        squares = [_square(at[label]) if label in at else Square(NONE) for label in lines]
        columns.append(Column(head, squares, small))
    return Grid(title, columns, _notes(shown, bold))


def _square(tally: Tally) -> Square:
    written = _share if METRICS[tally.metric].percent else error_text
    text = written(tally.mean)
    if tally.std is not None:
        text += f" ± {written(tally.std)}"
    return Square(
        text,
        "" if tally.paper is None else _four(tally.paper),
        "i" if tally.incomplete else "",
        tally.verdict.comparable,
    )


def _share(value: float) -> str:
    return f"{value:.2f}"


def error_text(value: float) -> str:
    """Four decimals, as the paper has them, unless these would say nothing or too much."""
    if 0 < value < 0.00005:
        return f"{value:.1e}"
    return _four(value)


def _four(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4f}"


def _notes(shown: Sequence[Tally], bold: str) -> list[str]:
    said = [_MEANS[metric] for metric in _MEANS if any(t.metric == metric for t in shown)]
    if any(t.std is not None for t in shown):
        said.insert(0, "mean ± deviation over seeds")
    if any(t.verdict.p is not None for t in shown):
        said.append(
            f"{bold}: the best of a column and those not significantly worse (Welch's t-test over "
            "seeds, two-sided, p > 0.05)"
        )
    elif len({t.label for t in shown}) > 1:
        said.append(f"{bold}: the best of a column; with one seed that is no test")
    if any(t.paper is not None for t in shown):
        said.append(f"beside or below ours: the paper's number (ratio {PAPER_RATIO:g})")
    if any(t.incomplete for t in shown):
        said.append(
            "ⁱ: fewer seeds than the others have, and with less than half of the most not "
            "compared; --format csv counts them"
        )
    return said


def terminal(tallied: Sequence[Tally], width: int) -> RenderableType:
    made = grids(tallied, bold="bold *")
    return Group(*(Group(terminal_grid(g.title, g.columns, g.notes, width), "") for g in made))


def markdown(tallied: Sequence[Tally]) -> str:
    return "\n".join(markdown_grid(g.title, g.columns, g.notes) for g in grids(tallied))


def latex(tallied: Sequence[Tally]) -> str:
    return "\n".join(latex_grid(g.title, g.columns, g.notes) for g in grids(tallied))


def as_csv(tallied: Sequence[Tally]) -> str:
    """One line per number of the tables."""
    out = io.StringIO()
    names = [
        "dataset", "label", "method", "objective", "metric", "ratio", "mean", "std", "seeds",
        "asked", "best_or_comparable", "p", "paper",
    ]  # fmt: skip
    writer = csv.DictWriter(out, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(t.to_json() for t in tallied)
    return out.getvalue()


def as_json(tallied: Sequence[Tally]) -> str:
    return json.dumps([t.to_json() for t in tallied], indent=1)
