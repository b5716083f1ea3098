"""A picture of ranked reactants: top-k against k, and how much lines differ from the mean."""

import math
import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import cycle, product
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from gmpool.report.comparison import Cell
from gmpool.report.figures import SAFE_COLOURS, label_text, png, spaced_figure
from gmpool.report.grid import Picture
from gmpool.tasks.retrosynthesis.recorded import FREQUENCY, Line, lines_by_set
from gmpool.tasks.retrosynthesis.top_k import PUBLISHED, K

BASELINE = "mean"
"""The method that the others are measured from."""
_DASHES = ("-", (0, (5, 1.6)), (0, (1.2, 1.2)))
_FLOOR = "#8a8a8a"
_MARKERS = "osD^vP"
_NOTE = (
    "Duplicates not merged, as published. Filled: ours, the mean over seeds with one standard "
    "error of it. Open: the paper's numbers. Below: the difference from the mean pooling, of the "
    "seeds that both lines have."
)


class _Style(NamedTuple):
    colour: str
    dash: Any
    marker: str


def pictures(cells: Sequence[Cell]) -> list[Picture]:
    """One, with a panel for each set that has runs; none without any."""
    found = {
        dataset: [line for line in lines if line.runs]
        for dataset, lines in lines_by_set(cells).items()
    }
    drawn = {dataset: lines for dataset, lines in found.items() if lines}
    if not drawn:
        return []
    return [Picture("top-k", "Top-k of the test reactions", partial(top_k_curves, drawn), _NOTE)]


def top_k_curves(lines: Mapping[str, Sequence[Line]]) -> bytes:
    """A PNG with a panel per set. lines: with runs, by the name of the set."""
    styles = _styles(lines)
    below = any(_compared(of) for of in lines.values())
    figure = spaced_figure(max(4.9 * len(lines), 6.6), 7.6 if below else 4.4)
    heights = [1.25, 1] if below else [1]
    panels = figure.subplots(
        len(heights), len(lines), squeeze=False, sharey="row", height_ratios=heights
    )
    for place, (dataset, of) in enumerate(lines.items()):
        _curves(panels[0][place], of, styles)
        panels[0][place].set_title(label_text(dataset), fontsize=10)
        if below:
            _differences(panels[1][place], of, styles)
        panels[-1][place].set_xlabel("k", fontsize=9)
    panels[0][0].set_ylabel("top-k (%)", fontsize=9)
    if below:
        panels[1][0].set_ylabel("difference from mean pooling (points)", fontsize=9)
    _legend(figure, lines, styles)
    every = [line for of in lines.values() for line in of]
    figure.suptitle(f"Ranked reactants: {_seeds(every)}", fontsize=11)
    return png(figure)


def _styles(lines: Mapping[str, Sequence[Line]]) -> dict[str, _Style]:
    """By label, the same on all sets."""
    labels = dict.fromkeys(
        line.label for of in lines.values() for line in of if line.method != FREQUENCY
    )
    looks = cycle(product(_DASHES, SAFE_COLOURS))
    found = {
        label: _Style(colour, dash, marker)
        for label, (dash, colour), marker in zip(labels, looks, cycle(_MARKERS), strict=False)
    }
    floors = (line.label for of in lines.values() for line in of if line.method == FREQUENCY)
    return found | dict.fromkeys(floors, _Style(_FLOOR, (0, (3, 1.5, 1, 1.5)), "x"))


def _curves(axes: Axes, lines: Sequence[Line], styles: Mapping[str, _Style]) -> None:
    for line in lines:
        style = styles[line.label]
        found = {k: _mean_error(line.tops(PUBLISHED, k)) for k in K if line.tops(PUBLISHED, k)}
        ks, means = list(found), [mean for mean, _ in found.values()]
        low = [max(mean - error, 0) for mean, error in found.values()]
        high = [min(mean + error, 100) for mean, error in found.values()]
        axes.fill_between(ks, low, high, color=style.colour, alpha=0.16, linewidth=0)
        axes.plot(ks, means, color=style.colour, linestyle=style.dash, linewidth=1.2,
                  marker=style.marker, markersize=3.4)  # fmt: skip
        _open(axes, list(line.paper), list(line.paper.values()), style)
    axes.set_ylim(top=100)
    _plain(axes)


def _differences(axes: Axes, lines: Sequence[Line], styles: Mapping[str, _Style]) -> None:
    """Of the lines that can be measured from the baseline, beside each other at each k."""
    found = _compared(lines)
    axes.axhline(0, color=styles[found[0][0].label].colour if found else _FLOOR, linewidth=1.2)
    step = min(0.08, 0.4 / max(len(found), 1))
    for place, (base, line) in enumerate(found):
        style = styles[line.label]
        aside = math.exp(step * (place - (len(found) - 1) / 2))
        of = {k: _mean_error(values) for k in K if (values := _paired(base, line, k))}
        axes.errorbar([k * aside for k in of], [mean for mean, _ in of.values()],
                      [error for _, error in of.values()], color=style.colour, linestyle="none",
                      marker=style.marker, markersize=4.2, elinewidth=1.1, capsize=2)  # fmt: skip
        paper = {k: line.paper[k] - base.paper[k] for k in line.paper if k in base.paper}
        _open(axes, [k * aside for k in paper], list(paper.values()), style)
    _plain(axes)


def _compared(lines: Sequence[Line]) -> list[tuple[Line, Line]]:
    """The baseline with each line that has a seed in common with it."""
    base = next((line for line in lines if line.method == BASELINE), None)
    others = [line for line in lines if line is not base and line.method != FREQUENCY]
    return [(base, line) for line in others if base and _paired(base, line, 1)]


def _paired(base: Line, line: Line, k: int) -> list[float]:
    """How much more the line has, seed by seed."""
    known = {run.seed: run.at(PUBLISHED, k) for run in base.runs}
    of = ((run.at(PUBLISHED, k), known.get(run.seed, math.nan)) for run in line.runs)
    return [mine - theirs for mine, theirs in of if not math.isnan(mine - theirs)]


def _mean_error(values: Sequence[float]) -> tuple[float, float]:
    """The mean and its standard error, 0 of one."""
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return statistics.fmean(values), error


def _open(axes: Axes, ks: Sequence[float], values: Sequence[float], style: _Style) -> None:
    """The paper's."""
    axes.plot(ks, values, linestyle="none", marker=style.marker, markersize=7.5, zorder=4,
              markerfacecolor="none", markeredgecolor=style.colour,
              markeredgewidth=1.1)  # fmt: skip


def _plain(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_xticks(K, [str(k) for k in K])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlim(0.78, 64)
    axes.tick_params(labelsize=9)
    axes.grid(axis="y", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def _legend(
    figure: Figure, lines: Mapping[str, Sequence[Line]], styles: Mapping[str, _Style]
) -> None:
    """Below the panels."""
    handles = [
        Line2D([], [], color=style.colour, linestyle=style.dash, linewidth=1.7,
               marker=style.marker, markersize=4, label=label_text(label, 40))
        for label, style in styles.items()
    ]  # fmt: skip
    if any(line.paper for of in lines.values() for line in of):
        handles.append(
            Line2D([], [], color="black", linestyle="none", marker="o", markersize=7.5,
                   markerfacecolor="none", label="the paper's")
        )  # fmt: skip
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 4),
                  frameon=False, fontsize=9, handlelength=2.6)  # fmt: skip


def _seeds(lines: Sequence[Line]) -> str:
    counts = sorted({len(line.runs) for line in lines if line.method != FREQUENCY} or {1})
    if counts == [1]:
        return "one seed"
    few = f"{counts[0]} to " if len(counts) > 1 else ""
    return f"mean and its standard error over {few}{counts[-1]} seeds"
