"""Pictures of whether probabilities, deviations and intervals mean what they say."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from gmpool.packed_numbers import Array
from gmpool.report.calibration_error import PROMISED, Reliability, reliability, share_inside
from gmpool.report.figures import GREY, SAFE_COLOURS, label_text, new_figure, plain_axes, png
from gmpool.report.probabilities import Probable
from gmpool.report.recorded_outputs import Outputs
from gmpool.report.recorded_sureness import Held

MOST_PANELS = 4
"""Label columns with a diagram."""
MOST_LINES = 6
"""Label columns in the picture of intervals."""
_REACH = 1.96  # of a 95 % interval, in deviations


class Inside(NamedTuple):
    """How often one label column was inside, for each coverage that was promised. [k] each"""

    name: str
    promised: Array
    share: Array
    by_deviation: bool
    """By normal errors of the deviations; else by the intervals or sets of predictions."""


def reliability_diagrams(columns: Sequence[Probable]) -> bytes:
    """A PNG with a panel per label column."""
    shown = columns[:MOST_PANELS]
    across = min(len(shown), 2)
    down = math.ceil(len(shown) / across)
    figure = new_figure(4.6 * across, 4.7 * down)
    panels = list(figure.subplots(down, across, squeeze=False).flat)
    for axes, column in zip(panels, shown, strict=False):
        _diagram(axes, column)
    for axes in panels[len(shown) :]:
        axes.set_visible(False)
    return png(figure)


def _diagram(axes: Axes, column: Probable) -> None:
    found = reliability(column.calibrated, column.came_true)
    said = f"calibration error {100 * found.error:.1f} %"
    axes.plot([0, 1], [0, 1], "--", color=GREY, linewidth=1)
    if column.was_calibrated and column.raw is not None:
        raw = reliability(column.raw, column.came_true)
        said += f", {100 * raw.error:.1f} % before calibration"
        axes.plot(raw.said, raw.true, ":", color=SAFE_COLOURS[1], linewidth=1.4, marker="s",
                  markersize=4, label="before calibration")  # fmt: skip
    low, high = _wilson(found)
    axes.errorbar(found.said, found.true, yerr=[found.true - low, high - found.true],
                  color=SAFE_COLOURS[0], linewidth=1.6, elinewidth=0.8, marker="o", markersize=5,
                  label="as predicted")  # fmt: skip
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    axes.set_xlabel("probability that was said", fontsize=9)
    axes.set_ylabel("share that came true", fontsize=9)
    axes.set_title(f"{label_text(column.name, 40)}\n{said}", fontsize=9)
    if column.was_calibrated:
        axes.legend(loc="best", framealpha=0.85, edgecolor="none", fontsize=8)
    plain_axes(axes)


def _wilson(bins: Reliability) -> tuple[Array, Array]:
    """Where the share of each bin lies, at 95 %; it is never outside of it."""
    n, p, z = bins.graphs, bins.true, _REACH
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return np.minimum(middle - reach, p), np.maximum(middle + reach, p)


def shares_inside(runs: Sequence[Outputs], held: Sequence[Held]) -> list[Inside]:
    """Of each label column: the intervals or sets of predictions, the mean over runs that promise
    as much, and of numbers the deviations of ensembles, all runs together."""
    first = runs[0]
    made = []
    fitting = [each for each in held if len(each.share) == len(first.labels)]
    for at, name in enumerate(first.labels[:MOST_LINES]):
        by_coverage: dict[float, list[float]] = {}
        for run in fitting:
            for coverage, share in zip(run.promised, run.share[at], strict=True):
                if share is not None:
                    by_coverage.setdefault(coverage, []).append(share)
        if by_coverage:
            shares = np.array([np.mean(by_coverage[each]) for each in sorted(by_coverage)])
            made.append(Inside(name, np.array(sorted(by_coverage)), shares, by_deviation=False))
        pairs = [
            (run.made[:, at] - run.truth[:, at], run.deviation[:, at])
            for run in runs
            if run.deviation is not None and first.task == "regression"
        ]
        if pairs:
            error, deviation = (np.concatenate(each) for each in zip(*pairs, strict=True))
            there = ~np.isnan(error)
            if there.any():
                inside = share_inside(error[there], deviation[there])
                made.append(Inside(name, PROMISED, inside, by_deviation=True))
    return made


def intervals_picture(found: Sequence[Inside], what: str) -> bytes:
    """A PNG: the share inside over what was promised. what: intervals or sets."""
    names = list(dict.fromkeys(one.name for one in found))
    colours = dict(zip(names, SAFE_COLOURS, strict=False))
    figure = new_figure(4.8, 4.8)
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], "--", color=GREY, linewidth=1)
    for one in found:
        label = label_text(one.name, 30) + ": " if len(names) > 1 else ""
        if one.by_deviation:
            axes.plot(one.promised, one.share, ":", color=colours[one.name], linewidth=1.6,
                      marker="s", markersize=3.5, label=f"{label}deviations")  # fmt: skip
        else:
            axes.plot(one.promised, one.share, color=colours[one.name], linewidth=1.6, marker="o",
                      markersize=5, label=f"{label}{what}")  # fmt: skip
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    axes.set_xlabel("share that was promised", fontsize=9)
    axes.set_ylabel("share of the test graphs inside", fontsize=9)
    axes.legend(loc="best", framealpha=0.85, edgecolor="none", fontsize=8)
    plain_axes(axes)
    return png(figure)
