"""Pictures made from rows."""

import io
import math
import warnings
from collections.abc import Mapping, Sequence
from itertools import cycle

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from gmpool.plain_text import one_line, shortened
from gmpool.record import Row

COLOURS = ("#1f5f8b", "#c8553d", "#588157", "#7b5ea7", "#b08900", "#4a4e69")
# Okabe and Ito's colours, which the colour-blind tell apart; the best line has the first.
SAFE_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4d4d4d")
GREY = "#888888"
_MOST_PIXELS = 32_000  # a side; Matplotlib refuses twice as many
CURVES = (
    ("train_loss", "training loss"),
    ("valid_loss", "validation loss"),
    ("valid_metric", "validation {metric}"),
)


def new_figure(width: float, height: float, *, dpi: int = 110) -> Figure:
    """width, height: in inches. A picture of very many lines has smaller ones."""
    dpi = min(dpi, int(_MOST_PIXELS / max(width, height)))
    figure = Figure((width, height), dpi=dpi, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def spaced_figure(width: float, height: float, *, dpi: int = 160) -> Figure:
    """A figure for many panels, with room between them. width, height: in inches."""
    figure = new_figure(width, height, dpi=dpi)
    figure.set_layout_engine("constrained", w_pad=0.05, h_pad=0.06)
    return figure


def png(figure: Figure) -> bytes:
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # it is drawn as a box
        figure.savefig(out, format="png")
    return out.getvalue()


def label_text(text: str, most: int = 60) -> str:
    """A name from a file or a plan as Matplotlib prints it: no formula, no control character, not
    so long that the picture grows with it, and in the legend even if it begins with _."""
    shown = shortened(one_line(text), most).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def plain_axes(axes: Axes) -> None:
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def learning_curves(lines: Mapping[str, Sequence[Row]]) -> bytes:
    """A PNG with one column per curve: each run thin, the mean of the runs still going bold.

    lines: rows by label.
    """
    metric = next(row.metric for rows in lines.values() for row in rows)
    # A method without epochs, such as a kernel, has no curve.
    going = {
        label: [row for row in rows if row.curve.get("train_loss")] for label, rows in lines.items()
    }
    drawn = {label: rows for label, rows in going.items() if rows}
    figure = new_figure(12, 3.6)
    for axes, (name, title) in zip(figure.subplots(1, len(CURVES)), CURVES, strict=True):
        for colour, (label, rows) in zip(cycle(COLOURS), drawn.items(), strict=False):
            _draw(axes, rows, name, colour, label_text(label))
            if name != "train_loss":
                _mark_best(axes, rows, name, colour)
        axes.set_title(title.format(metric=label_text(metric)), fontsize=10)
        axes.set_xlabel("epoch", fontsize=9)
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))
        plain_axes(axes)
        if drawn:
            axes.set_xlim(left=1)
    if drawn:
        figure.axes[0].legend(frameon=False, fontsize=9)
    return png(figure)


def _draw(axes: Axes, rows: Sequence[Row], name: str, colour: str, label: str) -> None:
    """Of a long curve every so-many-th point is recorded."""
    curves = [_points(row, name) for row in rows]
    every = max(_every(row) for row in rows)
    for row, curve in zip(rows, curves, strict=True):
        axes.plot(_epochs(len(curve), _every(row)), curve, color=colour, alpha=0.18, linewidth=0.8)
    mean = []
    for at in range(max(map(len, curves)) if len({_every(row) for row in rows}) == 1 else 0):
        going = [c[at] for c in curves if len(c) > at and not math.isnan(c[at])]
        # A mean of few survivors says more about which runs survive than about learning.
        if 2 * len(going) < len(curves):
            break
        mean.append(math.fsum(going) / len(going))
    axes.plot(_epochs(len(mean), every), mean, color=colour, linewidth=1.8, label=label)


def _mark_best(axes: Axes, rows: Sequence[Row], name: str, colour: str) -> None:
    """A ring at the epoch whose weights were kept, of each run."""
    places = []
    for row in rows:
        points = _points(row, name)
        at = (row.best_epoch - 1) // _every(row)
        if 0 <= at < len(points) and not math.isnan(points[at]):
            places.append((1 + at * _every(row), points[at]))
    if places:
        epochs, values = zip(*places, strict=True)
        axes.plot(epochs, values, "o", color=colour, markerfacecolor="white", zorder=3,
                  markersize=6 if len(rows) < 10 else 3.5)  # fmt: skip


def _points(row: Row, name: str) -> list[float]:
    return [math.nan if value is None else value for value in row.curve.get(name, [])]


def _every(row: Row) -> int:
    every: int = row.curve.get("every", 1)
    return every


def _epochs(points: int, every: int) -> list[int]:
    return [1 + every * at for at in range(points)]
