"""Pictures made from rows."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from itertools import cycle
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

Row = dict[str, Any]
COLOURS = ("#1f5f8b", "#c8553d", "#588157", "#7b5ea7", "#b08900", "#4a4e69")
CURVES = (
    ("train_loss", "training loss"),
    ("valid_loss", "validation loss"),
    ("valid_metric", "validation {metric}"),
)


def learning_curves(rows: Sequence[Row]) -> bytes:
    """A PNG with one column per curve: each run thin, the mean of the runs still going bold."""
    # A method without epochs, such as a kernel, has no curve; axes want something to show.
    rows = [row for row in rows if row["curve"]["train_loss"]] or rows[:1]
    methods = list(dict.fromkeys(row["method"] for row in rows))
    figure = Figure(figsize=(12, 3.6), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (name, title) in zip(figure.subplots(1, len(CURVES)), CURVES, strict=True):
        for colour, method in zip(cycle(COLOURS), methods, strict=False):
            curves = [row["curve"][name] for row in rows if row["method"] == method]
            _draw(axes, curves, colour, method)
        axes.set_title(title.format(metric=rows[0]["metric"]), fontsize=10)
        axes.set_xlabel("epoch", fontsize=9)
        axes.tick_params(labelsize=8)
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        if rows[0]["curve"]["train_loss"]:
            axes.set_xlim(left=1)
    figure.axes[0].legend(frameon=False, fontsize=9)
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return out.getvalue()


def _draw(axes: Axes, curves: list[list[float | None]], colour: str, label: str) -> None:
    for curve in curves:
        points = [math.nan if v is None else v for v in curve]
        axes.plot(range(1, len(curve) + 1), points, color=colour, alpha=0.18, linewidth=0.8)
    mean = []
    for epoch in range(max(map(len, curves))):
        going = [c[epoch] for c in curves if len(c) > epoch and c[epoch] is not None]
        # A mean of few survivors says more about which runs survive than about learning.
        if 2 * len(going) < len(curves):
            break
        mean.append(math.fsum(v for v in going if v is not None) / len(going))
    axes.plot(range(1, len(mean) + 1), mean, color=colour, linewidth=1.8, label=label)
