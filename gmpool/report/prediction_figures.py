"""Pictures of what models said of the test graphs: parity, ROC curves, a confusion matrix."""

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from gmpool.packed_numbers import Array
from gmpool.record import Row
from gmpool.report.by_label import changed
from gmpool.report.figures import SAFE_COLOURS, label_text, new_figure, png
from gmpool.report.grid import Picture
from gmpool.report.number_text import measured
from gmpool.report.recorded_outputs import Outputs, recorded_outputs
from gmpool.report.roc import area, roc_points, thresholds

MOST_PANELS = 4
"""Label columns with a parity plot."""
MOST_CURVES = 6
"""Label columns with a ROC curve."""
_GREY = "#888888"


class Curves(NamedTuple):
    """The ROC curves of one label column, one per run in which it has both answers."""

    name: str
    points: Sequence[tuple[Array, Array]]

    @property
    def mean_area(self) -> float:
        """In percent."""
        return 100 * sum(area(*each) for each in self.points) / len(self.points)


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
    whose = "the run's test graphs" if len(runs) == 1 else f"the test graphs of {len(runs)} runs"
    made = []
    if first.task == "regression":
        note = f"Each point is one of {whose}; on the dashed line prediction and label are equal."
        if len(runs) > 1:
            note += " RMSE and R² are of all points together, in the table of each run by itself."
        note += _first_columns(MOST_PANELS, first.labels) + silent
        draw = partial(parity, runs)
        made.append(Picture(f"parity-{file}", f"Predictions and labels: {title}", draw, note))
    if first.task == "multiclass":
        note = f"Of {whose}: how many, and which share of their true class, were said to be what."
        draw = partial(confusion, runs)
        made.append(Picture(f"confusion-{file}", f"Confusion matrix: {title}", draw, note + silent))
    if curves := roc_curves(runs):
        note = f"Of {whose}, from the surest yes to the surest no; the dashed line is chance."
        if len(runs) > 1:
            note += " A line for each run; the area is the mean over them."
        if first.task == "binary":
            note += _first_columns(MOST_CURVES, first.labels)
        draw = partial(roc, curves)
        made.append(Picture(f"roc-{file}", f"ROC curve: {title}", draw, note + silent))
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
    _plain(axes)
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
    axes.plot(ends, ends, "--", color=_GREY, linewidth=1, zorder=1)
    dense = len(truth) > 300
    axes.scatter(truth, made, s=10 if dense else 18, alpha=0.35 if dense else 0.6, linewidths=0,
                 color=SAFE_COLOURS[0], zorder=2)  # fmt: skip
    axes.set(xlim=ends, ylim=ends, aspect="equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))


def roc_curves(runs: Sequence[Outputs]) -> list[Curves]:
    """Of each label column that has both answers in some run; none of other labels."""
    first = runs[0]
    if first.task == "binary":
        columns = [
            (name, [(run.made[:, at], run.truth[:, at]) for run in runs])
            for at, name in enumerate(first.labels[:MOST_CURVES])
        ]
    else:
        said = [(run.margin, run.truth[:, 0]) for run in runs if run.margin is not None]
        columns = [(" = ".join([*first.labels, *first.classes[1:]]), said)]
    made = []
    for name, pairs in columns:
        known = [(score[~np.isnan(y)], y[~np.isnan(y)] > 0.5) for score, y in pairs]
        both = [(score, yes) for score, yes in known if yes.any() and not yes.all()]
        if both:
            made.append(Curves(name, [roc_points(*thresholds(*each)) for each in both]))
    return made


def roc(curves: Sequence[Curves]) -> bytes:
    """A PNG with all columns in one panel; where there are several runs, a panel for each."""
    several = max(len(one.points) for one in curves) > 1
    groups = [[one] for one in curves] if several else [list(curves)]
    across = min(len(groups), 3)
    down = math.ceil(len(groups) / across)
    figure = new_figure(4.8 * across, 4.8 * down)
    panels = list(figure.subplots(down, across, squeeze=False).flat)
    colours = iter(SAFE_COLOURS)
    for axes, group in zip(panels, groups, strict=False):
        axes.plot([0, 1], [0, 1], "--", color=_GREY, linewidth=1)
        for one, colour in zip(group, colours, strict=False):
            _roc(axes, one, colour)
        axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
        axes.set_xlabel("false positive rate (share of the no that is said to be yes)", fontsize=9)
        axes.set_ylabel("true positive rate (share of the yes that is found)", fontsize=9)
        if len(group) > 1:
            axes.legend(loc="lower right", framealpha=0.85, edgecolor="none", fontsize=8)
        else:
            axes.set_title(_words(group[0], "\n"), fontsize=9)
        _plain(axes)
    for axes in panels[len(groups) :]:
        axes.set_visible(False)
    return png(figure)


def _roc(axes: Axes, curves: Curves, colour: str) -> None:
    width, alpha = (1.8, 1.0) if len(curves.points) == 1 else (0.9, 0.6)
    label: str | None = _words(curves, ": ")
    for false, found in curves.points:
        axes.plot([0, *false], [0, *found], color=colour, linewidth=width, alpha=alpha, label=label)
        label = None


def _words(curves: Curves, between: str) -> str:
    runs = len(curves.points)
    said = "AUC" if runs == 1 else f"mean AUC of {runs} runs"
    return f"{label_text(curves.name, 30)}{between}{said} {curves.mean_area:.2f} %"


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


def _plain(axes: Axes) -> None:
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
