"""How a saved model did on labelled data, as a grid: a line for each label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gmpool.report.by_label import OF_YES
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
    unusable: Sequence[str] = ()
    """Labels that were taken for gaps, as place: problem."""


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
            "labels_taken_for_gaps": len(about.unusable),
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
    small = "" if ends is None else " to ".join(written(end, None) for end in ends)
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
    if "f1" in names:
        said.append(OF_YES)
    if "calibration_error" in names:
        said.append(
            "calibration error: how far probabilities are from the shares that came true, on "
            "average; without an interval, because the error of bootstrap samples is too large"
        )
    if about.coverage is not None:
        what, size = "set", "how many answers a set has, on average; it may have none"
        if "rmse" in names:
            what, size = "interval", "how wide an interval is, on average"
        said.append(
            f"inside: how many labels are in their {what}, which promises {100 * about.coverage:g} "
            f"%; size: {size}"
        )
    without = [f"{label.name} {label.missing:,}" for label in found if label.missing]
    if without:
        more = f" and {len(without) - SHOWN} more columns" if len(without) > SHOWN else ""
        said.append(f"rows without a label: {', '.join(without[:SHOWN])}{more}")
    if about.unusable:
        said.append(f"labels that cannot be used, taken for gaps: {len(about.unusable):,}")
        said += [f"  {line}" for line in about.unusable[:SHOWN]]
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
