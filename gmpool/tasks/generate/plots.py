"""Pictures of generated molecules: scores over the training, properties at its end."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, cycle, product
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from gmpool.report.comparison import Cell
from gmpool.report.figures import SAFE_COLOURS, label_text, png, spaced_figure
from gmpool.report.grid import Picture
from gmpool.tasks.generate.recorded import Line, lines_by_set

_DASHES = ("-", (0, (5, 1.6)), (0, (1.2, 1.2)))
_TRAINING = "#c9c9c9"
_PROPERTIES = {"qed": "QED", "logp": "logP", "sa": "synthetic accessibility", "rings": "rings"}
_BAND = "Mean over seeds, with a band of one standard error of it."


class _Histogram(NamedTuple):
    """Counts in bins of equal width from low to high."""

    low: float
    high: float
    counts: Sequence[int]


def pictures(cells: Sequence[Cell]) -> list[Picture]:
    """Of each set with scores: validity, what is valid, unique and new, and properties where they
    were recorded."""
    found = lines_by_set(cells)
    made = []
    for dataset, listed in found.items():
        lines = [line for line in listed if line.runs]
        if not lines:
            continue
        end = f"-{dataset}" if len(found) > 1 else ""
        titles = {"loose": "loose validity (%)", "strict": "strict validity (%)"}
        draw = partial(curves, lines, titles, dataset)
        made.append(
            Picture(f"validity{end}", f"{dataset}: validity over the training", draw, _BAND)
        )
        titles = {"vun": "valid × unique × novel (%)", "unique": "unique among the valid (%)"}
        draw = partial(curves, lines, titles, dataset)
        note = f"{_BAND} Unique is drawn while at least half of the runs have a valid molecule."
        made.append(
            Picture(
                f"valid-unique-novel{end}",
                f"{dataset}: new molecules over the training",
                draw,
                note,
            )
        )
        if any("histograms" in run.generated for line in lines for run in line.runs):
            draw = partial(properties, lines, dataset)
            note = "Valid draws of all seeds after the training; grey: the training molecules."
            made.append(Picture(f"properties{end}", f"{dataset}: properties", draw, note))
    return made


def curves(lines: Sequence[Line], titles: Mapping[str, str], dataset: str) -> bytes:
    """A PNG with a panel per score against the iteration. titles: of the scores."""
    figure = spaced_figure(4.9 * len(titles), 4.6)
    panels = figure.subplots(1, len(titles), squeeze=False)[0]
    faint = min(0.16, 0.45 / len(lines))  # so that nine bands on each other are no grey
    for axes, (score, title) in zip(panels, titles.items(), strict=True):
        for line, (dash, colour) in zip(lines, _styles(), strict=False):
            _curve(axes, line, score, colour, dash, faint)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("iteration", fontsize=9)
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        _plain(axes)
    _legend(figure, lines)
    what = "mean and its standard error"
    figure.suptitle(f"{label_text(dataset)}: {what} over {_seeds(lines)}", fontsize=11)
    return png(figure)


def _curve(axes: Axes, line: Line, score: str, colour: str, dash: Any, faint: float) -> None:
    """Means of few of the runs say more about which ones still have a score than about it: they
    are not drawn."""
    iterations = sorted({n for run in line.runs for n in run.iterations.tolist()})
    values = np.full((len(line.runs), len(iterations)), np.nan)
    for row, run in zip(values, line.runs, strict=True):
        row[np.searchsorted(iterations, run.iterations)] = run.scores[score]
    enough = 2 * np.isfinite(values).sum(0) >= len(values)
    at, values = np.array(iterations)[enough], values[:, enough]
    if not len(at):
        return
    mean = np.nanmean(values, axis=0)
    freedom = np.maximum(np.isfinite(values).sum(0) - 1, 1)
    # Of the mean: deviations of nine lines, of runs that collapse or not, would hide each other.
    error = np.sqrt(np.nansum((values - mean) ** 2, axis=0) / freedom / (freedom + 1))
    low, high = np.maximum(mean - error, 0), np.minimum(mean + error, 100)
    axes.fill_between(at, low, high, color=colour, alpha=faint, linewidth=0)
    for edge in (low, high):
        axes.plot(at, edge, color=colour, linestyle=dash, linewidth=0.6, alpha=0.35)
    axes.plot(at, mean, color=colour, linestyle=dash, linewidth=1.9, zorder=3,
              path_effects=[withStroke(linewidth=3.4, foreground="white")],
              marker="o" if len(at) == 1 else None, markersize=4)  # fmt: skip


def properties(lines: Sequence[Line], dataset: str) -> bytes:
    """A PNG with a panel per property: how the valid draws of all seeds are shared out."""
    figure = spaced_figure(9.8, 7.2)
    panels = figure.subplots(2, 2).flat
    for axes, (name, title) in zip(panels, _PROPERTIES.items(), strict=True):
        drawn = [_histograms((run.generated for run in line.runs), name) for line in lines]
        trained = (run.row.more.get("training", {}) for line in lines for run in line.runs)
        training = _histograms(trained, name)[:1]
        edges = _edges([*training, *chain(*drawn)])
        if training:
            axes.stairs(_pooled(training, edges), edges, fill=True, color=_TRAINING)
        for found, (dash, colour) in zip(drawn, _styles(), strict=False):
            if found:
                axes.stairs(_pooled(found, edges), edges, color=colour, linestyle=dash,
                            linewidth=1.4)  # fmt: skip
        axes.set_title(title, fontsize=10)
        axes.set_ylabel("% of the valid", fontsize=9)
        axes.margins(x=0.01)
        _plain(axes)
    figure.axes[-1].set_xticks(range(7), [*"012345", "6+"])
    _legend(figure, lines, Patch(color=_TRAINING, label="training set"))
    figure.suptitle(f"{label_text(dataset)}: after the training, {_seeds(lines)}", fontsize=11)
    return png(figure)


def _histograms(said: Iterable[Mapping[str, Any]], name: str) -> list[_Histogram]:
    """Of those that say one and have something in it."""
    found = []
    for one in said:
        if name == "rings":
            counts = one.get("rings", [])
            found.append(_Histogram(-0.5, len(counts) - 0.5, counts))
        elif name in one.get("histograms", {}):
            found.append(_Histogram(**one["histograms"][name]))
    return [histogram for histogram in found if sum(histogram.counts)]


def _edges(found: Sequence[_Histogram]) -> np.ndarray:
    """Of bins that all have: as they were recorded, where all were recorded alike."""
    low = min((h.low for h in found), default=0.0)
    high = max((h.high for h in found), default=1.0)
    return np.linspace(low, high, 1 + max((len(h.counts) for h in found), default=1))


def _pooled(found: Sequence[_Histogram], edges: np.ndarray) -> np.ndarray:
    """Percent in each bin, of all counts. [bins]"""
    below = np.zeros(len(edges))
    for low, high, counts in found:
        own = np.linspace(low, high, len(counts) + 1)
        below += np.interp(edges, own, np.cumsum([0, *counts]))
    return 100 * np.diff(below) / below[-1]


def _styles() -> Iterator[tuple[Any, str]]:
    """Dashes and colour of each line: no two are alike before the 22nd."""
    return cycle(product(_DASHES, SAFE_COLOURS))


def _plain(axes: Axes) -> None:
    axes.tick_params(labelsize=9)
    axes.grid(axis="y", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def _legend(figure: Figure, lines: Sequence[Line], *more: Patch) -> None:
    """Below the panels. more: what stands after the lines."""
    handles = [
        Line2D(
            [], [], color=colour, linestyle=dash, linewidth=1.8, label=label_text(line.label, 40)
        )
        for line, (dash, colour) in zip(lines, _styles(), strict=False)
    ]
    across = min(len(handles) + len(more), 5)
    figure.legend(handles=[*handles, *more], loc="outside lower center", ncols=across,
                  frameon=False, fontsize=9, handlelength=2.6)  # fmt: skip


def _seeds(lines: Sequence[Line]) -> str:
    counts = sorted({len(line.runs) for line in lines})
    few = f"{counts[0]} to " if len(counts) > 1 else ""
    return f"{few}{counts[-1]} {'seed' if counts[-1] == 1 else 'seeds'}"
