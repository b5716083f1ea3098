"""Draws docs/architecture.png: from nodes to a graph vector, and the folders by who imports whom.

python docs/architecture.py
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch

FILE = Path(__file__).with_suffix(".png")
INK, LINE, QUIET = "#1f2430", "#8a93a3", "#5b6472"
NODES, SEEDS, WORK, FOLDER = "#4c78a8", "#e4892f", "#eef2f7", "#ffffff"
EDGES = ((0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3), (1, 6))
PLACES = ((0.1, 0.9), (0.8, 1.2), (0.7, 0.4), (1.3, 0.1), (1.9, 0.5), (1.7, -0.4), (1.4, 1.3))
FOLDERS = ("data", "graph", "nn", "pool", "report", "tasks", "engine", "cli")
MEANINGS = (
    "packed graphs,\nsources",
    "edges, segments,\ncolumns",
    "convolutions,\nattention",
    "a file\nper method",
    "tables, plots,\npages",
    "a folder\nper task",
    "jobs, stacks,\nrun store",
    "commands",
)


def box(axes: Axes, x: float, y: float, width: float, height: float, text: str, fill: str) -> None:
    shape = FancyBboxPatch(
        (x, y), width, height, boxstyle="round,pad=0,rounding_size=0.12", fc=fill, ec=LINE, lw=1.2
    )
    axes.add_patch(shape)
    axes.text(x + width / 2, y + height / 2, text, ha="center", va="center", color=INK, size=10)


def arrow(axes: Axes, x: float, y: float, to_x: float, to_y: float) -> None:
    style = {"arrowstyle": "-|>", "color": LINE, "lw": 1.4, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (to_x, to_y), (x, y), arrowprops=style)


def rows(axes: Axes, x: float, y: float, count: int, colour: str, step: float = 0.36) -> None:
    """Row vectors below each other, around a height."""
    for i in range(count):
        low = y + (count / 2 - 1 - i) * step
        axes.add_patch(
            FancyBboxPatch(
                (x, low + 0.06), 0.8, step - 0.12, boxstyle="round,pad=0,rounding_size=0.05",
                fc=colour, ec="white",
            )
        )  # fmt: skip


def note(axes: Axes, x: float, y: float, text: str, size: float = 8.5) -> None:
    axes.text(x, y, text, ha="center", va="top", color=QUIET, size=size, linespacing=1.35)


def readout(axes: Axes, y: float) -> None:
    for a, b in EDGES:
        (ax, ay), (bx, by) = PLACES[a], PLACES[b]
        axes.plot([ax, bx], [y - 0.4 + ay, y - 0.4 + by], color=LINE, lw=1.4, zorder=1)
    for px, py in PLACES:
        axes.add_patch(Circle((px, y - 0.4 + py), 0.14, fc=NODES, ec="white", zorder=2))
    note(axes, 1.0, y - 1.1, "a graph:\nn nodes, edges A")
    arrow(axes, 2.25, y, 2.75, y)
    box(axes, 2.8, y - 0.5, 1.75, 1.0, "message\npassing", WORK)
    arrow(axes, 4.6, y, 5.05, y)
    rows(axes, 5.1, y, 7, NODES, step=0.28)
    note(axes, 5.5, y - 1.1, "H [n, D]\nnever padded")
    arrow(axes, 5.95, y, 6.4, y)
    box(axes, 6.45, y - 0.5, 1.75, 1.0, "GMPool$_K$", WORK)
    rows(axes, 6.93, y + 1.35, 3, SEEDS, step=0.24)
    note(axes, 7.33, y + 2.05, "K learned seeds ask")
    arrow(axes, 7.33, y + 0.95, 7.33, y + 0.53)
    note(axes, 7.33, y - 0.6, "keys and values by a\nconvolution over A")
    arrow(axes, 8.25, y, 8.7, y)
    rows(axes, 8.75, y, 3, SEEDS)
    note(axes, 9.15, y - 0.6, "[K, D]\nrepresentatives")
    arrow(axes, 9.6, y, 10.05, y)
    box(axes, 10.1, y - 0.5, 1.5, 1.0, "SelfAtt", WORK)
    note(axes, 10.85, y - 0.6, "they see\neach other")
    arrow(axes, 11.65, y, 12.1, y)
    box(axes, 12.15, y - 0.5, 1.5, 1.0, "GMPool$_1$", WORK)
    arrow(axes, 13.7, y, 14.15, y)
    rows(axes, 14.2, y, 1, SEEDS)
    note(axes, 14.55, y - 0.6, "[D]\none vector")


def folders(axes: Axes, y: float) -> None:
    width, gap = 1.62, 0.27
    for i, (name, meaning) in enumerate(zip(FOLDERS, MEANINGS, strict=True)):
        x = i * (width + gap)
        box(axes, x, y, width, 0.6, f"{name}/", FOLDER)
        note(axes, x + width / 2, y - 0.08, meaning, size=8)
        if i:
            arrow(axes, x - gap, y + 0.3, x - 0.02, y + 0.3)
    x = width + gap
    box(axes, x, y - 1.75, 3 * width + 2 * gap, 0.6, "ops/  a package per operator", FOLDER)
    note(axes, x + 1.5 * width + gap, y - 1.83, "PyTorch and Triton beside each other", size=8)
    for i in (1, 2, 3):
        middle = i * (width + gap) + width / 2
        arrow(axes, middle, y - 1.15, middle, y - 0.72)
    axes.text(
        4 * (width + gap), y - 1.45, "an arrow points to who may import; never back",
        color=QUIET, size=8.5, va="center",
    )  # fmt: skip


def draw() -> Figure:
    low, high, left, right = -2.2, 5.9, -0.15, 8 * 1.62 + 7 * 0.27 + 0.25
    figure = Figure(figsize=(11.5, 11.5 * (high - low) / (right - left)), facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(left, right)
    axes.set_ylim(low, high)
    axes.axis("off")
    readout(axes, 3.55)
    axes.plot([0, right - 0.2], [1.3, 1.3], color=LINE, lw=0.8, ls=":")
    folders(axes, 0.2)
    return figure


if __name__ == "__main__":
    draw().savefig(FILE, dpi=160, metadata={"Software": None})
