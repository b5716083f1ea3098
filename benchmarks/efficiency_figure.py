"""The paper's two efficiency figures, from the rows of `gmpool bench efficiency`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from sklearn.isotonic import isotonic_regression

from gmpool.errors import UserError
from gmpool.report.figures import new_figure, png

Measured = dict[str, Any]
"""A row of a benchmark."""
TITLES = {
    "memory": "one graph, 2 n edges, to 4 rows: forward and backward",
    "time": "50 graphs, n²/10 edges, a quarter kept: forward",
}
HEIGHTS = {"memory": "peak memory, MiB", "time": "seconds"}
HUES = (
    "#1f5f8b", "#c8553d", "#588157", "#7b5ea7", "#b08900", "#4a4e69", "#00897b", "#c2185b",
    "#6d4c41",
)  # fmt: skip
MARKERS = "osD^v<>P*Xphd8H1|_+"
"""Each method has one of its own, which stands before its name as well: hues come twice."""
FAVOURITE = "gmt"
"""Drawn thick."""


class Line(NamedTuple):
    """What a method, or a peer of one, took at the sizes that it managed."""

    label: str
    colour: str
    marker: str
    ours: bool
    points: list[tuple[int, float]]
    cut_short: bool


def efficiency_figure(rows: Sequence[Measured]) -> bytes:
    """A PNG with a panel for each figure and device: a line per method, dashed for peers.

    A line that ends in a cross stops there because the next size took too much.
    """
    panels = list(dict.fromkeys((row["figure"], row["device"]) for row in rows))
    if not panels:
        raise UserError("there is nothing to draw: no row of gmpool bench efficiency")
    methods = list(dict.fromkeys(row["method"] for row in rows))
    figure = new_figure(7.2 * len(panels), 6.4)
    each = zip(figure.subplots(1, len(panels), squeeze=False).flat, panels, strict=True)
    for axes, panel in each:
        here = [row for row in rows if (row["figure"], row["device"]) == panel]
        _panel(axes, _lines(here, methods), *panel)
    return png(figure)


def recorded_figure(paths: Sequence[Path]) -> bytes:
    """The same from files that `gmpool bench efficiency --record` wrote; of a point measured twice
    the last counts."""
    rows = [row for path in paths for row in _read(path) if row.get("bench") == "efficiency"]
    if not rows:
        raise UserError(
            f"there are no rows of efficiency in {', '.join(map(str, paths))}; "
            f"gmpool bench efficiency --record FILE writes some"
        )
    keys = ("figure", "device", "method", "nodes")
    return efficiency_figure(list({tuple(row[k] for k in keys): row for row in rows}.values()))


def _read(path: Path) -> list[Measured]:
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise UserError(f"the rows of {path} cannot be read: {error}") from error


def _lines(rows: Sequence[Measured], methods: Sequence[str]) -> list[Line]:
    """Those of which anything was measured, the costliest at its end first."""
    looks = dict(zip(methods, zip(cycle(HUES), cycle(MARKERS), strict=False), strict=False))
    lines = []
    for method, look in looks.items():
        own = sorted((r for r in rows if r["method"] == method), key=lambda r: r["nodes"])
        for value, ended in (("ours", "ended"), ("peer", "peer_ended")):
            points = [(r["nodes"], r[value]) for r in own if r[value] is not None]
            if points:
                ours = value == "ours"
                label = method if ours else f"{method} ({own[0]['peer_name']})"
                lines.append(Line(label, *look, ours, points, any(r[ended] for r in own)))
    return sorted(lines, key=lambda line: -line.points[-1][1])


def _panel(axes: Axes, lines: Sequence[Line], figure: str, device: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    for line in lines:
        axes.plot(*zip(*line.points, strict=True), color=line.colour, marker=line.marker,
                  markersize=5, linestyle="-" if line.ours else "--",
                  linewidth=2.6 if line.label == FAVOURITE else 1.1)  # fmt: skip
        if line.cut_short:
            axes.plot(*line.points[-1], "x", color=line.colour, markersize=8, markeredgewidth=2)
    ticks = _apart({nodes for line in lines for nodes, _ in line.points})
    axes.set_xticks(ticks, [f"{n:,}" for n in ticks], fontsize=8, rotation=45)
    axes.minorticks_off()
    axes.tick_params(axis="y", labelsize=8)
    axes.set_xlabel("nodes n of a graph;  ×: the next size takes too much", fontsize=9)
    axes.set_ylabel(HEIGHTS[figure], fontsize=9)
    axes.set_title(f"{TITLES[figure]}\n{device}", fontsize=10)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    _name(axes, lines)


def _apart(sizes: Iterable[int]) -> list[int]:
    """The sizes whose numbers can stand side by side, the largest among them."""
    shown: list[int] = []
    for size in sorted(sizes, reverse=True):
        if not shown or 1.12 * size < shown[-1]:
            shown.append(size)
    return shown


def _name(axes: Axes, lines: Sequence[Line]) -> None:
    """Names at the right of the panel, as near to their lines' ends as there is room."""
    to_axes = axes.transData + axes.transAxes.inverted()
    ends = [tuple(to_axes.transform(line.points[-1])) for line in lines]
    for line, end, height in zip(lines, ends, _spread([y for _, y in ends]), strict=True):
        thread = {"arrowstyle": "-", "color": line.colour, "alpha": 0.6, "linewidth": 0.8,
                  "linestyle": ":", "relpos": (0, 0.5)}  # fmt: skip
        axes.plot(1.05, height, line.marker, color=line.colour, markersize=5, clip_on=False,
                  transform=axes.transAxes)  # fmt: skip
        axes.annotate(line.label, end, (1.08, height), "axes fraction", "axes fraction",
                      fontsize=8, color=line.colour, va="center", arrowprops=thread,
                      weight="bold" if line.label == FAVOURITE else "normal")  # fmt: skip


def _spread(heights: Sequence[float], gap: float = 0.037) -> list[float]:
    """Descending heights moved apart, no further than they must: least squares."""
    count = len(heights)
    wanted = [height + number * gap for number, height in enumerate(heights)]
    found = isotonic_regression(wanted, increasing=False, y_min=(count - 1) * gap)
    return [height - number * gap for number, height in enumerate(found)]
