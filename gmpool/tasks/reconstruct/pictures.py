"""Pictures of recorded reconstructions, drawn again from the weights that were kept."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from gmpool.data import Dataset
from gmpool.record import Row
from gmpool.report.grid import Picture
from gmpool.tasks.reconstruct.chemistry import has_molecules
from gmpool.tasks.reconstruct.data import reconstruct_split
from gmpool.tasks.reconstruct.model import Autoencoder
from gmpool.tasks.reconstruct.molecule_page import RebuiltMolecules, molecule_page
from gmpool.tasks.reconstruct.plots import Cloud, Rebuilt, point_clouds, ratio_curves
from gmpool.tasks.reconstruct.rebuild import rebuild
from gmpool.tasks.reconstruct.scores import SCORES, Tally, labels_of

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
