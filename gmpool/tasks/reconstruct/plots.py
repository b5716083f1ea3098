"""Pictures of reconstructions: point clouds beside their original, and scores against the ratio."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from torch import Tensor

from gmpool.data import Dataset, PackedGraphs
from gmpool.errors import DataError, UserError
from gmpool.record import Row
from gmpool.report.figures import SAFE_COLOURS, label_text, png, spaced_figure
from gmpool.report.grid import Picture
from gmpool.tasks.reconstruct.chemistry import has_molecules
from gmpool.tasks.reconstruct.data import reconstruct_split
from gmpool.tasks.reconstruct.model import Autoencoder, rebuild
from gmpool.tasks.reconstruct.molecule_page import RebuiltMolecules, molecule_page
from gmpool.tasks.reconstruct.scores import SCORES, Tally, labels_of
from gmpool.tasks.reconstruct.table import error_text

_MARKERS = "osD^vP*"
_EDGES = "#b5b5b5"


class Rebuilt(NamedTuple):
    """What one method made of a graph."""

    positions: Tensor
    """[N, 2]"""
    error: float
    """Mean squared error of the positions."""


@dataclass(frozen=True)
class Cloud:
    """One graph whose node features are positions, and its reconstructions by label."""

    graphs: PackedGraphs
    rebuilt: Mapping[str, Rebuilt]


def point_clouds(clouds: Sequence[Cloud]) -> bytes:
    """A PNG with a row per graph: the original, then each method's with its error below.

    A node has the colour of its true place, so that one sees where it went. All panels of a row
    have the frame of the original; how many nodes fall outside is said.
    """
    labels = list(dict.fromkeys(label for cloud in clouds for label in cloud.rebuilt))
    if not clouds or not labels:
        raise UserError("there is no reconstruction to draw; give at least one graph and method")
    across = 1 + len(labels)
    figure = spaced_figure(1.9 * across, 2.2 * len(clouds) + 0.4)
    panels = figure.subplots(len(clouds), across, squeeze=False)
    for row, cloud in enumerate(clouds):
        true = _positions(cloud.graphs)
        _cloud(panels[row, 0], cloud.graphs, true, true)
        name = label_text(cloud.graphs.name).replace("(", "\n(")
        panels[row, 0].set_ylabel(name, fontsize=10)
        for axes, label in zip(panels[row, 1:], labels, strict=True):
            found = cloud.rebuilt.get(label)
            if found is None:
                _frame(axes, true)
                axes.set_xlabel("not run", fontsize=9, color="#888888")
                continue
            places = found.positions.detach().cpu().numpy()
            outside = _cloud(axes, cloud.graphs, true, places)
            said = f"error {error_text(found.error)}"
            axes.set_xlabel(said + f"\n{outside} outside" * (outside > 0), fontsize=9)
    for axes, title in zip(panels[0], ["original", *labels], strict=True):
        axes.set_title(label_text(title).replace(" (", "\n("), fontsize=10)
    return png(figure)


def _positions(graphs: PackedGraphs) -> np.ndarray:
    if graphs.num_graphs != 1 or graphs.node_float is None or graphs.node_float.size(1) != 2:
        width = 0 if graphs.node_float is None else graphs.node_float.size(1)
        raise DataError(
            f"{graphs.name}: a point cloud is one graph with two numbers per node, got "
            f"{graphs.num_graphs} graph(s) with {width}"
        )
    return np.asarray(graphs.node_float.cpu().numpy())


def _frame(axes: Axes, true: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same square around the original for all panels; its low and its high corner [2]."""
    middle = (true.max(0) + true.min(0)) / 2
    reach = 0.62 * float(np.ptp(true, axis=0).max() or 1.0)
    low, high = middle - reach, middle + reach
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xticks=[], yticks=[], aspect="equal")
    for spine in axes.spines.values():
        spine.set_color("#dddddd")
    return low, high


def _cloud(axes: Axes, graphs: PackedGraphs, true: np.ndarray, places: np.ndarray) -> int:
    """Draws one panel; returns how many nodes lie outside of it."""
    low, high = _frame(axes, true)
    source, target = graphs.batch([0]).edge_index.cpu().numpy()
    once = source < target
    lines = np.stack([places[source[once]], places[target[once]]], axis=1)  # [M, 2, 2]
    axes.add_collection(LineCollection(list(lines), colors=_EDGES, linewidths=0.4, zorder=1))
    size = min(12.0, 2200 / len(true))
    axes.scatter(
        places[:, 0], places[:, 1], c=true.sum(1), cmap="viridis", s=size, linewidths=0, zorder=2
    )
    return int(((places < low) | (places > high)).any(1).sum())


def ratio_curves(tallied: Sequence[Tally], *, title: str = "") -> bytes:
    """A PNG with a panel per share in percent: the mean against the ratio, one line per method,
    with a band of one deviation over seeds."""
    metrics = [m for m, kind in SCORES.items() if kind.percent and _of(tallied, metric=m)]
    if not metrics:
        raise UserError("there is no score in percent to draw; errors of A and X are in the table")
    purposes = {f"{t.dataset} (objective {t.objective})" for t in tallied}
    if len(purposes) > 1:
        raise UserError(f"curves are of one set and objective, got {', '.join(sorted(purposes))}")
    labels = sorted({t.label for t in tallied}, key=lambda label: -_level(tallied, label))
    figure = spaced_figure(3.5 * len(metrics), 3.8)
    panels = figure.subplots(1, len(metrics), squeeze=False)[0]
    styles = dict(
        zip(labels, zip(cycle(SAFE_COLOURS), cycle(_MARKERS), strict=False), strict=False)
    )
    lines: dict[str, Line2D] = {}
    for axes, metric in zip(panels, metrics, strict=True):
        for rank, label in enumerate(reversed(labels)):  # the best is drawn last, on top
            points = _of(tallied, metric=metric, label=label)
            lines[label] = _line(axes, points, *styles[label], rank)
        ratios = sorted({t.ratio for t in _of(tallied, metric=metric)})
        axes.set_xticks(ratios, [f"{100 * ratio:g}" for ratio in ratios])
        axes.set_xlabel("nodes kept (%)", fontsize=9)
        axes.set_title(f"{SCORES[metric].title} (%)", fontsize=10)
        axes.tick_params(labelsize=9)
        axes.grid(axis="y", alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    named = [label_text(label) for label in labels]
    figure.legend([lines[label] for label in labels], named, loc="outside lower center",
                  ncols=min(len(labels), 6), frameon=False, fontsize=10)  # fmt: skip
    if title:
        figure.suptitle(label_text(title), fontsize=11)
    return png(figure)


def _of(tallied: Sequence[Tally], **wanted: str) -> list[Tally]:
    found = [t for t in tallied if all(getattr(t, key) == value for key, value in wanted.items())]
    return sorted(found, key=lambda t: t.ratio)


def _level(tallied: Sequence[Tally], label: str) -> float:
    """By which lines are ordered: the mean over all shares in percent."""
    means = [t.mean for t in tallied if t.label == label and SCORES[t.metric].percent]
    return float(np.mean(means)) if means else 0.0


def _line(axes: Axes, points: Sequence[Tally], colour: str, marker: str, rank: int) -> Line2D:
    ratios = np.array([t.ratio for t in points])
    means = np.array([t.mean for t in points])
    deviations = np.array([t.std or 0.0 for t in points])
    axes.fill_between(ratios, means - deviations, np.minimum(means + deviations, 100.0),
                      color=colour, alpha=0.18, linewidth=0, zorder=2 + rank)  # fmt: skip
    (line,) = axes.plot(ratios, means, color=colour, marker=marker, markersize=5, linewidth=1.7,
                        markeredgecolor="white", markeredgewidth=0.6,
                        zorder=3 + rank)  # fmt: skip
    return line


Load = Callable[[Row], Autoencoder]
"""Gives the trained model of a row."""


def pictures(
    rows: Iterable[Row], tallied: Sequence[Tally], datasets: Mapping[str, Dataset], load: Load
) -> list[Picture]:
    """Scores against the ratio where there are several ratios, point clouds of graphs with
    positions, and a page of molecules for each set of them.

    rows: those whose weights were kept; of the others there are no clouds and pages.
    datasets: by the name that rows have.
    """
    found = _curves(tallied)
    for_x = [row for row in rows if row.model["objective"] == "x"]
    kept = {name: [row for row in for_x if row.dataset == name] for name in datasets}
    clouds = [name for name, data in datasets.items() if kept[name] and _has_positions(data)]
    if clouds:
        drawn = [(kept[name], datasets[name]) for name in clouds]
        found.append(Picture("clouds", "Point clouds", partial(_clouds, drawn, load)))
    for name, data in datasets.items():
        if kept[name] and has_molecules(data.graphs):
            page = partial(_page, kept[name], data, load)
            found.append(Picture(f"molecules-{name}", f"Molecules of {name}", page))
    return found


def _curves(tallied: Sequence[Tally]) -> list[Picture]:
    made = []
    for dataset in dict.fromkeys(t.dataset for t in tallied):
        mine = [t for t in tallied if t.dataset == dataset and t.objective == "x"]
        if len({t.ratio for t in mine if SCORES[t.metric].percent}) > 1:
            draw = partial(ratio_curves, mine, title=dataset)
            made.append(Picture(f"curves-{dataset}", f"{dataset}: scores and ratios", draw))
    return made


def _has_positions(data: Dataset) -> bool:
    floats = data.graphs.node_float
    return data.graphs.num_graphs == 1 and floats is not None and floats.size(1) == 2


def _clouds(drawn: Sequence[tuple[Sequence[Row], Dataset]], load: Load) -> bytes:
    return point_clouds([Cloud(data.graphs, _rebuilt(rows, data, load)) for rows, data in drawn])


def _rebuilt(rows: Sequence[Row], data: Dataset, load: Load) -> dict[str, Rebuilt]:
    """By label: the seed with the least error, which is the one that was trained best."""
    labels = labels_of(rows)
    best: dict[str, Row] = {}
    ratios = {row.model["ratio"] for row in rows}
    for row in sorted(rows, key=lambda row: row.more["scores"]["error_x"]):
        ratio = f" {row.model['ratio']:.0%}" if len(ratios) > 1 else ""
        best.setdefault(labels[row.key] + ratio, row)
    made = {}
    for label, row in best.items():
        again = rebuild(load(row), data.graphs, reconstruct_split(data).test)
        made[label] = Rebuilt(again.nodes, again.scores["error_x"])
    return made


def _page(rows: Sequence[Row], data: Dataset, load: Load) -> bytes:
    """At the largest ratio with the first seed: GMPool and the best of the others."""
    largest = max(row.model["ratio"] for row in rows)
    at = [row for row in rows if row.model["ratio"] == largest]
    first = min(row.seed for row in at)
    at = [row for row in at if row.seed == first]
    at.sort(key=lambda row: (row.method != "gmt", -row.more["scores"]["accuracy"]))
    labels, ids = labels_of(rows), reconstruct_split(data).test
    methods = []
    for row in at[:2]:
        again = rebuild(load(row), data.graphs, ids)
        methods.append(RebuiltMolecules(labels[row.key], again.nodes, again.clusters))
    return molecule_page(data.graphs, ids, methods)
