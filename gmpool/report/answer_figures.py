"""Pictures of how well answers are ranked: ROC and precision-recall curves."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from gmpool.packed_numbers import Array
from gmpool.report.figures import GREY, SAFE_COLOURS, label_text, new_figure, plain_axes, png
from gmpool.report.recorded_outputs import Outputs
from gmpool.report.roc import (
    area,
    average_precision,
    precision_recall_points,
    roc_points,
    thresholds,
)

MOST_CURVES = 6
"""Label columns with a curve."""


class Curves(NamedTuple):
    """Of one label column, one per run in which it has both answers."""

    name: str
    points: Sequence[tuple[Array, Array]]
    """As `gmpool.report.roc.thresholds` gives them."""

    @property
    def mean_area(self) -> float:
        """Under the ROC curve, in percent."""
        return 100 * sum(area(*roc_points(*each)) for each in self.points) / len(self.points)

    @property
    def mean_precision(self) -> float:
        """Average precision, in percent."""
        return 100 * sum(average_precision(*each) for each in self.points) / len(self.points)

    @property
    def share(self) -> float:
        """Of yes in all runs together, of 1: the precision of chance."""
        return float(sum(h[-1] for _, h in self.points) / sum(s[-1] for s, _ in self.points))


def answer_curves(runs: Sequence[Outputs]) -> list[Curves]:
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
        there = [(score[~np.isnan(y)], y[~np.isnan(y)] == 1) for score, y in pairs]
        both = [(score, yes) for score, yes in there if yes.any() and not yes.all()]
        if both:
            made.append(Curves(name, [thresholds(*each) for each in both]))
    return made


def roc(curves: Sequence[Curves]) -> bytes:
    """A PNG with all columns in one panel; where there are several runs, a panel for each."""
    return _panels(curves, _roc)


def precision_recall(curves: Sequence[Curves]) -> bytes:
    """The same of precision and recall."""
    return _panels(curves, _precision_recall)


def _panels(curves: Sequence[Curves], draw: Callable[[Axes, Curves, str, bool], None]) -> bytes:
    several = max(len(one.points) for one in curves) > 1
    groups = [[one] for one in curves] if several else [list(curves)]
    across = min(len(groups), 3)
    down = math.ceil(len(groups) / across)
    beneath = 0.2 * len(curves) if len(groups) < len(curves) else 0.0
    figure = new_figure(4.8 * across, 4.8 * down + beneath)
    panels = list(figure.subplots(down, across, squeeze=False).flat)
    colours = iter(SAFE_COLOURS)
    for axes, group in zip(panels, groups, strict=False):
        for one, colour in zip(group, colours, strict=False):
            draw(axes, one, colour, len(group) == 1)
        axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
        if len(group) > 1:
            # Beneath: of rare answers curves are low, of others high, and no corner is free.
            figure.legend(loc="outside lower center", frameon=False, fontsize=8)
        plain_axes(axes)
    for axes in panels[len(groups) :]:
        axes.set_visible(False)
    return png(figure)


def _roc(axes: Axes, curves: Curves, colour: str, alone: bool) -> None:
    if not axes.lines:
        axes.plot([0, 1], [0, 1], "--", color=GREY, linewidth=1)
    axes.set_xlabel("false positive rate (share of the no that is said to be yes)", fontsize=9)
    axes.set_ylabel("true positive rate (share of the yes that is found)", fontsize=9)
    said = _words(curves, "AUC", curves.mean_area)
    for each, label in _labelled(axes, curves, said, alone):
        false, found = roc_points(*each)
        axes.plot([0, *false], [0, *found], color=colour, label=label, **_style(curves))


def _precision_recall(axes: Axes, curves: Curves, colour: str, alone: bool) -> None:
    axes.axhline(curves.share, linestyle="--", color=GREY if alone else colour, linewidth=1)
    axes.set_xlabel("recall (share of the yes that is found)", fontsize=9)
    axes.set_ylabel("precision (share of what is said to be yes that is)", fontsize=9)
    said = _words(curves, "average precision", curves.mean_precision)
    for each, label in _labelled(axes, curves, said, alone):
        found, precision = precision_recall_points(*each)
        axes.plot([0, *found], [precision[0], *precision], color=colour, label=label,
                  drawstyle="steps-pre", **_style(curves))  # fmt: skip


def _labelled(
    axes: Axes, curves: Curves, said: str, alone: bool
) -> list[tuple[tuple[Array, Array], str | None]]:
    """The runs, of which the first carries the words where a legend has them and no title."""
    name = label_text(curves.name, 30)
    if alone:
        axes.set_title(f"{name}\n{said}", fontsize=9)
    label = f"{name}: {said}"
    return [(each, None if at else label) for at, each in enumerate(curves.points)]


def _style(curves: Curves) -> dict[str, Any]:
    alone = len(curves.points) == 1
    return {"linewidth": 1.8 if alone else 0.9, "alpha": 1.0 if alone else 0.6}


def _words(curves: Curves, what: str, value: float) -> str:
    runs = len(curves.points)
    return f"{what if runs == 1 else f'mean {what} of {runs} runs'} {value:.2f} %"
