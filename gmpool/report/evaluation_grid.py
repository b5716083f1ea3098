"""How a saved model did on labelled data, as a grid: a line for each label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gmpool.report.grid import Column, Grid, Square
from gmpool.report.number_text import measured, pair

HEADINGS = {
    "roc_auc": "roc_auc %", "pr_auc": "pr_auc %", "accuracy": "accuracy %", "f1": "f1 %",
    "rmse": "rmse", "mae": "mae", "r2": "r2", "calibration_error": "calibration error %",
    "inside": "inside %", "size": "size",
}  # fmt: skip
"""By the name of a score, in the order of their columns."""
IN_UNITS = ("rmse", "mae", "size")
SHOWN = 5


class LabelScores(NamedTuple):
    """Of one label column."""

    name: str
    labels: int
    missing: int
    scores: Mapping[str, float | str]
    """By name a score, or why it is not defined."""
    intervals: Mapping[str, tuple[float, float]]
    """Where it lies with 95 % confidence."""


class Evaluation(NamedTuple):
    """What the scores rest on."""

    rows: int
    bad: Sequence[str]
    """Rows without a prediction, as place: problem."""
    coverage: float | None
    """That intervals and sets promise; None: there are none."""
    draws: int
    """Bootstrap samples; 0: no intervals."""


def evaluation_grid(found: Sequence[LabelScores], about: Evaluation) -> Grid:
    names = [name for name in HEADINGS if any(name in label.scores for label in found)]
    return Grid(
        title="Scores of a saved model",
        columns=[
            Column("label", [Square(label.name) for label in found], left=True),
            Column("labels", [Square(f"{label.labels:,}") for label in found]),
            *(Column(HEADINGS[name], [_square(label, name) for label in found]) for name in names),
        ],
        notes=_notes(found, about, names),
        small_is="95 % interval",
        records=[record for label in found for record in _records(label)],
        whole={
            "rows": about.rows,
            "without_prediction": len(about.bad),
            "coverage": about.coverage,
            "bootstrap_draws": about.draws,
            "scores": [record for label in found for record in _records(label)],
        },
    )


def _square(label: LabelScores, name: str) -> Square:
    value = label.scores.get(name, "")
    if isinstance(value, str):
        return Square("–", marks="u" * bool(value))
    written = measured if name in IN_UNITS else pair
    ends = label.intervals.get(name)
    small = "" if ends is None else " … ".join(written(end, None) for end in ends)
    return Square(written(value, None), small=small)


def _records(label: LabelScores) -> list[dict[str, Any]]:
    records = []
    for name, value in label.scores.items():
        undefined = isinstance(value, str)
        low, high = label.intervals.get(name, (None, None))
        records.append(
            {
                "label_column": label.name, "labels": label.labels, "missing": label.missing,
                "metric": name, "value": None if undefined else value, "low": low, "high": high,
                "undefined": value if undefined else "",
            }
        )  # fmt: skip
    return records


def _notes(found: Sequence[LabelScores], about: Evaluation, names: Sequence[str]) -> list[str]:
    said = [f"{about.rows:,} rows"]
    if about.draws:
        said.append(f"below each score: 95 % interval, from {about.draws:,} bootstrap samples")
    if "rmse" in names:
        said.append("rmse, mae: in units of the label; r2 has none, and 1 is the best")
    if "calibration_error" in names:
        said.append(
            "calibration error: mean distance of probabilities from shares that came true, without "
            "an interval: it is larger in draws of the rows than in the rows"
        )
    if about.coverage is not None:
        said.append(
            f"inside: labels in their interval or set, of which {100 * about.coverage:g} % are "
            "promised; size: mean width of intervals, or labels in a set"
        )
    without = [f"{label.name} {label.missing:,}" for label in found if label.missing]
    if without:
        more = f" and {len(without) - SHOWN} more columns" if len(without) > SHOWN else ""
        said.append(f"rows without a label: {', '.join(without[:SHOWN])}{more}")
    if about.bad:
        said.append(f"rows without a prediction, which count nowhere: {len(about.bad):,}")
        said += [f"  {line}" for line in about.bad[:SHOWN]]
    reasons = [
        f"ᵘ: {name} of {label.name} is not defined: {value}"
        for label in found
        for name, value in label.scores.items()
        if isinstance(value, str)
    ]
    return said + reasons[: 2 * SHOWN]
