"""Pictures of recorded reconstructions, drawn again from the weights that were kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from gmpool.data import Dataset
from gmpool.engine.checkpoint import load_autoencoder
from gmpool.engine.reconstructions import has_molecules
from gmpool.engine.store import Row
from gmpool.tasks.reconstruct.data import reconstruct_split
from gmpool.tasks.reconstruct.molecule_page import RebuiltMolecules, molecule_page
from gmpool.tasks.reconstruct.plots import Cloud, Rebuilt, point_clouds, ratio_curves
from gmpool.tasks.reconstruct.rebuild import rebuild
from gmpool.tasks.reconstruct.scores import METRICS, Tally, labels_of


def pictures(
    rows: Sequence[Row], tallied: Sequence[Tally], datasets: Mapping[str, Dataset], models: Path
) -> dict[str, bytes]:
    """PNG files by name: scores against the ratio where there are several ratios, point clouds of
    graphs with positions, and a page of molecules for each set of them.

    datasets: by the name that rows have. models: the folder with the weights, one folder per key;
    a run whose weights are not there has no part in clouds and pages.
    """
    found = {**_curves(tallied)}
    kept = [row for row in rows if (models / row["key"]).is_dir() and row["dataset"] in datasets]
    clouds = [
        Cloud(data.graphs, made)
        for name, data in datasets.items()
        if _has_positions(data) and (made := _rebuilt(_of(kept, name), data, models))
    ]
    if clouds:
        found["clouds.png"] = point_clouds(clouds)
    for name, data in datasets.items():
        mine = _of(kept, name)
        if mine and has_molecules(data.graphs):
            found[f"molecules-{_file(name)}.png"] = _page(mine, data, models)
    return found


def _curves(tallied: Sequence[Tally]) -> dict[str, bytes]:
    made = {}
    for dataset in dict.fromkeys(t.dataset for t in tallied):
        mine = [t for t in tallied if t.dataset == dataset and t.objective == "x"]
        shares = [t for t in mine if METRICS[t.metric].percent]
        if len({t.ratio for t in shares}) > 1:
            made[f"curves-{_file(dataset)}.png"] = ratio_curves(mine, title=dataset)
    return made


def _file(name: str) -> str:
    """A name as part of a file's."""
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in name)


def _of(rows: Iterable[Row], dataset: str) -> list[Row]:
    """Rows of a set that were trained for X."""
    for_x = (row for row in rows if row["config"]["model"]["objective"] == "x")
    return [row for row in for_x if row["dataset"] == dataset]


def _has_positions(data: Dataset) -> bool:
    floats = data.graphs.node_float
    return data.graphs.num_graphs == 1 and floats is not None and floats.size(1) == 2


def _rebuilt(rows: Sequence[Row], data: Dataset, models: Path) -> dict[str, Rebuilt]:
    """By label: the seed with the least error, which is the one that was trained best."""
    labels = labels_of(rows)
    best: dict[str, Row] = {}
    ratios = {row["config"]["model"]["ratio"] for row in rows}
    for row in sorted(rows, key=lambda row: row["scores"]["error_x"]):
        ratio = f" {row['config']['model']['ratio']:.0%}" if len(ratios) > 1 else ""
        best.setdefault(labels[row["key"]] + ratio, row)
    made = {}
    for label, row in best.items():
        model, _ = load_autoencoder(models / row["key"])
        again = rebuild(model, data.graphs, reconstruct_split(data).test)
        made[label] = Rebuilt(again.nodes, again.scores["error_x"])
    return made


def _page(rows: Sequence[Row], data: Dataset, models: Path) -> bytes:
    """At the largest ratio with the first seed: GMPool and the best of the others."""
    largest = max(row["config"]["model"]["ratio"] for row in rows)
    at = [row for row in rows if row["config"]["model"]["ratio"] == largest]
    first = min(row["seed"] for row in at)
    at = [row for row in at if row["seed"] == first]
    at.sort(key=lambda row: (row["method"] != "gmt", -row["scores"]["accuracy"]))
    labels, ids = labels_of(rows), reconstruct_split(data).test
    methods = []
    for row in at[:2]:
        model, _ = load_autoencoder(models / row["key"])
        again = rebuild(model, data.graphs, ids)
        methods.append(RebuiltMolecules(labels[row["key"]], again.nodes, again.clusters))
    return molecule_page(data.graphs, ids, methods)
