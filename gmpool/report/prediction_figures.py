"""Pictures of what models said of the test graphs: which there are, parity plots, and the confusion
matrix."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from gmpool.packed_numbers import Array
from gmpool.record import Row
from gmpool.report.answer_figures import MOST_CURVES, answer_curves, precision_recall, roc
from gmpool.report.calibration_figures import (
    MOST_LINES,
    intervals_picture,
    reliability_diagrams,
    shares_inside,
)
from gmpool.report.figures import GREY, SAFE_COLOURS, label_text, new_figure, plain_axes, png
from gmpool.report.grid import Picture
from gmpool.report.number_text import measured
from gmpool.report.probabilities import probable
from gmpool.report.recorded_outputs import Outputs, recorded_outputs
from gmpool.report.recorded_sureness import recorded_sureness
from gmpool.report.row_checks import changed

MOST_PANELS = 4
"""Label columns with a parity plot."""


def prediction_pictures(lines: Iterable[tuple[str, str, Sequence[Row]]]) -> list[Picture]:
    """Of the lines whose rows keep what was said of the test graphs.

    lines: set, what the line is called, and its rows.
    """
    made = []
    for number, (dataset, label, rows) in enumerate(lines, start=1):
        # A file's name must not be too long, and cut ones must not be the same.
        file = f"{number}-{dataset}-{label}"[:50]
        made += _pictures(file, f"{label} on {dataset}", rows)
    return made


def _pictures(file: str, title: str, rows: Sequence[Row]) -> list[Picture]:
    kept = [(row, found) for row in rows if (found := recorded_outputs(row)) is not None]
    if not kept:
        return []
    runs = [found for _, found in kept]
    first = runs[0]
    for row, found in kept:
        if found.of != first.of:
            raise changed(row, "test outputs")
    without = len(rows) - len(runs)
    silent = f" {without} of {len(rows)} runs keep no outputs, and are left out." * bool(without)
    if any(len(run.truth) < run.graphs for run in runs):
        silent += " Of a large test part some graphs are drawn that stand for all."
    whose = "the run's test graphs" if len(runs) == 1 else f"the test graphs of {len(runs)} runs"
    made: list[Picture] = []

    def add(kind: str, what: str, draw: Callable[[], bytes], note: str) -> None:
        made.append(Picture(f"{kind}-{file}", f"{what}: {title}", draw, note + silent))

    if first.task == "regression":
        note = f"Each point is one of {whose}; on the dashed line prediction and label are equal."
        if len(runs) > 1:
            note += " RMSE and R² are of all points together, in the table of each run by itself."
        note += _first_columns(MOST_PANELS, first.labels)
        add("parity", "Predictions and labels", partial(parity, runs), note)
    if first.task == "multiclass":
        note = f"Of {whose}: how many, and which share of their true class, were said to be what."
        add("confusion", "Confusion matrix", partial(confusion, runs), note)
    if curves := answer_curves(runs):
        lines = " A line for each run; the area is the mean over them." * (len(runs) > 1)
        lines += _first_columns(MOST_CURVES, first.labels) * (first.task == "binary")
        note = f"Of {whose}, from the surest yes to the surest no; the dashed line is chance."
        add("roc", "ROC curve", partial(roc, curves), note + lines)
        note += " Where yes is rare, this curve says more than the other."
        draw = partial(precision_recall, curves)
        add("precision-recall", "Precision and recall", draw, note + lines)
    if columns := probable(runs):
        note = (
            f"Of {whose}, in bins of equal count: on the dashed line probabilities come true as "
            "often as they say; bars: 95 % intervals. "
        )
        # What classes were before calibration is not kept.
        if any(column.was_calibrated or column.raw is None for column in columns):
            note += "Probabilities are calibrated on the validation part."
        else:
            note += "Probabilities are as the model gives them: calibration changed nothing."
        note += _first_columns(MOST_PANELS, [column.name for column in columns])
        add("calibration", "Calibration", partial(reliability_diagrams, columns), note)
    held = [each for row, _ in kept if (each := recorded_sureness(row)) is not None]
    if inside := shares_inside(runs, held):
        what = "intervals" if first.task == "regression" else "sets"
        note = (
            f"How often {what} of predictions held the truth, of {whose}; on the dashed line as "
            "often as was promised, below it less."
        )
        if any(one.by_deviation for one in inside):
            note += (
                " Deviations: the same of intervals that are made of the deviation that is "
                "predicted, as if errors were normal."
            )
        note += _first_columns(MOST_LINES, first.labels)
        draw = partial(intervals_picture, inside, what)
        add("intervals", f"What {what} hold", draw, note)
    return made


def _first_columns(most: int, labels: Sequence[str]) -> str:
    return f" The first {most} of {len(labels)} label columns." if len(labels) > most else ""


def parity(runs: Sequence[Outputs]) -> bytes:
    """A PNG with a panel per label column: what was predicted over what was measured."""
    names = runs[0].labels[:MOST_PANELS]
    truth, made = (np.concatenate([getattr(run, of) for run in runs]) for of in ("truth", "made"))
    across = min(len(names), 2)
    figure = new_figure(4.6 * across, 4.4 * math.ceil(len(names) / across))
    panels = list(figure.subplots(math.ceil(len(names) / across), across, squeeze=False).flat)
    for axes, name, x, y in zip(panels, names, truth.T, made.T, strict=False):
        _parity(axes, label_text(name, 30), x[~np.isnan(x)], y[~np.isnan(x)])
    for axes in panels[len(names) :]:
        axes.set_visible(False)
    return png(figure)


def _parity(axes: Axes, name: str, truth: Array, made: Array) -> None:
    axes.set_xlabel(f"{name}, in the data", fontsize=9)
    axes.set_ylabel(f"{name}, predicted", fontsize=9)
    plain_axes(axes)
    if not len(truth):
        axes.set_title("no label in the test part", fontsize=10)
        return
    error, around = made - truth, truth - truth.mean()
    said = f"RMSE {measured(math.sqrt((error**2).mean()), None)}"
    if (around != 0).any():
        said += f",  R² {1 - (error**2).sum() / (around**2).sum():.2f}"
    axes.set_title(f"{said}  ({len(truth):,} points)", fontsize=10)
    low, high = min(truth.min(), made.min()), max(truth.max(), made.max())
    margin = 0.04 * (high - low) or 1.0
    ends = low - margin, high + margin
    axes.plot(ends, ends, "--", color=GREY, linewidth=1, zorder=1)
    dense = len(truth) > 300
    axes.scatter(truth, made, s=10 if dense else 18, alpha=0.35 if dense else 0.6, linewidths=0,
                 color=SAFE_COLOURS[0], zorder=2)  # fmt: skip
    axes.set(xlim=ends, ylim=ends, aspect="equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))


def confusion(runs: Sequence[Outputs]) -> bytes:
    """A PNG with a line per true class and a column per class that was said."""
    names = [label_text(name, 20) for name in runs[0].classes]
    counts = np.zeros((len(names), len(names)), dtype=np.int64)
    for run in runs:
        np.add.at(counts, (run.truth[:, 0].astype(int), run.made[:, 0].astype(int)), 1)
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    side, longest = max(3.0, 0.5 * len(names)), max(map(len, names))
    room, upright = 0.8 + 0.08 * longest, 0.07 * longest > side / len(names)
    figure = new_figure(max(side + room, 4.2), side + (room if upright else 0.6) + 0.3)
    axes = figure.subplots()
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    small = 9 if len(names) <= 6 else 7
    for line, column in np.ndindex(counts.shape):
        if counts[line, column] or len(names) <= 6:
            axes.text(column, line, f"{counts[line, column]:,}\n{100 * shares[line, column]:.0f} %",
                      ha="center", va="center", fontsize=small,
                      color="white" if shares[line, column] > 0.55 else "black")  # fmt: skip
    axes.set_xticks(range(len(names)), names, fontsize=8, rotation=90 * upright)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.tick_params(length=0)
    axes.set_xticks(np.arange(1, len(names)) - 0.5, minor=True)
    axes.set_yticks(np.arange(1, len(names)) - 0.5, minor=True)
    axes.grid(which="minor", color="#cccccc", linewidth=0.6)
    axes.tick_params(which="minor", length=0)
    label = label_text(", ".join(runs[0].labels), 30)
    axes.set_xlabel(f"{label}, predicted", fontsize=9)
    axes.set_ylabel(f"{label}, in the data", fontsize=9)
    right = 100 * counts.trace() / counts.sum()
    axes.set_title(f"accuracy {right:.2f} %  ({counts.sum():,} predictions)", fontsize=10)
    return png(figure)
