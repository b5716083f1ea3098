"""Tables of recorded reconstructions: a row per line, a column per objective, error and ratio."""

from collections.abc import Sequence
from typing import Any

from gmpool.errors import UserError
from gmpool.record import Row
from gmpool.report.grid import Column, Grid, Square
from gmpool.report.number_text import NONE
from gmpool.report.provenance import facts, provenance_note
from gmpool.tasks.reconstruct.scores import PAPER_RATIO, SCORES, Tally

# What a reader must know of a metric to compare it with another publication.
_MEANS = {
    "validity": "validity: RDKit accepts the molecule with the charges and hydrogens of its types",
    "exact_types": "exact match, atom types: every atom has its type back",
    "exact_smiles": "exact match, SMILES of elements: the same canonical SMILES when charges and "
    "hydrogens are left out (the published sense, which is looser)",
    "error_x": "error of X: mean squared error of the node features",
    "error_a": "error of A: mean over the n² entries of (A − A_rec)², mean over graphs",
}


def grids(tallied: Sequence[Tally], rows: Sequence[Row] = ()) -> list[Grid]:
    """For each set one grid per share in percent, with a column per ratio, and one for all errors.

    The first of a set has the numbers of all. rows: those that were tallied, where it is to be
    said how they were made and by which code.
    """
    if not tallied:
        raise UserError("no reconstruction is recorded there; gmpool reconstruct records some")
    made = []
    for dataset in dict.fromkeys(t.dataset for t in tallied):
        of_set = [t for t in tallied if t.dataset == dataset]
        of = [row for row in rows if row.dataset == dataset]
        shown = [
            (f"{dataset}: {title} (%)", [t for t in of_set if t.metric == metric])
            for metric, (title, percent) in SCORES.items()
            if percent
        ]
        shown.append((f"{dataset}: errors", [t for t in of_set if not SCORES[t.metric].percent]))
        for number, (title, tallies) in enumerate((t, found) for t, found in shown if found):
            made.append(
                Grid(
                    title=title,
                    columns=_columns(tallies),
                    notes=[*_notes(tallies), *filter(None, [provenance_note(of)])],
                    records=[] if number else [_record(t) for t in of_set],
                    whole=[] if number else [t.to_json() for t in of_set],
                    facts=facts(rows) if rows else (),
                )
            )
    return made


def _columns(shown: Sequence[Tally]) -> list[Column]:
    lines = list(dict.fromkeys(t.label for t in shown))
    percent = SCORES[shown[0].metric].percent
    order = list(SCORES)
    keys = sorted(
        {(t.objective, t.metric, t.ratio) for t in shown},
        key=lambda key: (key[0] != "x", order.index(key[1]), key[2]),
    )
    several = len({objective for objective, *_ in keys}) > 1
    columns = [Column("method", [Square(label) for label in lines], left=True)]
    for objective, metric, ratio in keys:
        at = {
            t.label: t
            for t in shown
            if (t.objective, t.metric, t.ratio) == (objective, metric, ratio)
        }
        of = f"min {objective.upper()}"
        head, small = f"ratio {ratio:g}", of if several else ""
        if not percent:
            head, small = f"{of}: {SCORES[metric].title}", f"ratio {ratio:g}"
        squares = [_square(at[label]) if label in at else Square(NONE) for label in lines]
        columns.append(Column(head, squares, small))
    return columns


def _square(tally: Tally) -> Square:
    written = _share if SCORES[tally.metric].percent else error_text
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


def _notes(shown: Sequence[Tally]) -> list[str]:
    said = [_MEANS[metric] for metric in _MEANS if any(t.metric == metric for t in shown)]
    if any(t.std is not None for t in shown):
        said.insert(0, "mean ± deviation over seeds")
    if any(t.verdict.p is not None for t in shown):
        said.append(
            "bold: the best of a column and those not significantly worse (Welch's t-test over "
            "seeds, two-sided, p > 0.05)"
        )
    elif len({t.label for t in shown}) > 1:
        said.append("bold: the best of a column; with one seed that is no test")
    if any(t.paper is not None for t in shown):
        said.append(f"beside or below ours: the paper's number (ratio {PAPER_RATIO:g})")
    if any(t.incomplete for t in shown):
        said.append(
            "ⁱ: fewer seeds than the others have, and with less than half of the most not "
            "compared; --format csv counts them"
        )
    return said


def _record(tally: Tally) -> dict[str, Any]:
    found = tally.to_json()
    names = (
        "dataset", "label", "method", "objective", "metric", "ratio", "mean", "std", "seeds",
        "asked", "best_or_comparable", "p", "paper",
    )  # fmt: skip
    return {name: found[name] for name in names}
