"""The TU text format: a folder or zip with NAME_A.txt, NAME_graph_indicator.txt and so on.

Morris et al., "TUDataset: A collection of benchmark datasets for learning with graphs", 2020.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gmpool.atomic_files import PathLike
from gmpool.data.dataset import SOURCES, Dataset, Source
from gmpool.data.make_splits import with_splits
from gmpool.data.pack import pack
from gmpool.data.packed import PackedGraphs
from gmpool.data.sources.tu_files import TUFiles
from gmpool.data.split_request import OPTIONS
from gmpool.data.validity import MOST_CATEGORIES
from gmpool.errors import DataError


def read_tu(
    path: PathLike,
    *,
    name: str | None = None,
    degree_features: bool | None = None,
    max_degree: int | None = None,
    edge_features: bool = False,
    labelled: bool = True,
) -> PackedGraphs:
    """Reads a TU set: the graphs that PyG's ``TUDataset(use_node_attr=True)`` gives.

    Self-loops are dropped and parallel edges merged. Node attributes are numeric features, node
    labels categorical ones (counted from their minimum); edge labels and attributes are read only
    with ``edge_features``. ``degree_features`` adds the degree as a categorical feature; None adds
    it when the set has no other node feature. ``labelled=False`` reads no graph labels.
    """
    files = TUFiles(Path(path), name)
    owner = files.read("graph_indicator", np.int64, columns=1)[:, 0]  # [N], from 1
    classes, y = np.empty(0), None
    num_graphs = int(owner[-1])
    _check_indicator(owner, files.where("graph_indicator"))
    if labelled:
        labels = files.read("graph_labels", np.int64, columns=1)
        classes, inverse = np.unique(labels, return_inverse=True)
        y = torch.from_numpy(inverse.reshape(-1))
        if len(y) != num_graphs:
            raise DataError(
                f"{files.where('graph_labels')}: {len(y)} labels, but the last graph of "
                f"{files.name}_graph_indicator.txt is {num_graphs}; one label per graph is needed"
            )
    elif num_graphs > 2 * len(owner):  # before memory for so many graphs is taken
        line = int((owner > 2 * len(owner)).argmax())
        raise DataError(
            f"{files.where('graph_indicator')}:{line + 1}: graph {owner[line]}, but the set has "
            f"only {len(owner)} nodes; number the graphs from 1 without gaps"
        )
    sizes = torch.from_numpy(np.bincount(owner - 1, minlength=num_graphs))

    edges = files.read("A", np.int32, columns=2)  # [E, 2]: source, target, from 1
    _check_edges(edges, owner, files.where("A"))
    node = _features(files, "node", len(owner))
    graphs = pack(
        name=files.name,
        sizes=sizes,
        source=torch.from_numpy(edges[:, 0] - 1).long(),
        target=torch.from_numpy(edges[:, 1] - 1).long(),
        simple=True,
        y=y,
        task="multiclass" if labelled else None,
        class_names=tuple(str(c) for c in classes),
        task_names=("label",) if labelled else (),
        **node,
        **(_features(files, "edge", len(edges)) if edge_features else {}),
    )
    if degree_features or (degree_features is None and not node):
        graphs = graphs.with_degree_features(max_degree)
    return graphs.validate()


def _features(files: TUFiles, kind: str, rows: int) -> dict[str, Any]:
    """Numeric and categorical features of nodes or edges, where the set has them."""
    found: dict[str, Any] = {}
    if f"{kind}_attributes" in files:
        table = files.read(f"{kind}_attributes", np.float32, rows=rows)
        found[f"{kind}_float"] = torch.from_numpy(table)
    if f"{kind}_labels" in files:
        labels = files.read(f"{kind}_labels", np.int64, rows=rows)
        starts = labels.min(0)
        sizes = tuple(int(v) - int(s) + 1 for v, s in zip(labels.max(0), starts, strict=True))
        _check_spread(labels, sizes, files.where(f"{kind}_labels"))
        labels = labels - starts
        found[f"{kind}_cat"] = torch.from_numpy(labels)
        if kind == "node" and starts.any():
            found["cat_starts"] = tuple(starts.tolist())
        found["cat_sizes" if kind == "node" else "edge_cat_sizes"] = sizes
    return found


def _check_spread(labels: NDArray[np.int64], sizes: tuple[int, ...], where: str) -> None:
    """A feature is as wide as the labels are far apart, so that they cannot be any numbers."""
    if sum(sizes) > MOST_CATEGORIES:
        column = int(np.argmax(sizes))
        values = labels[:, column]
        first, last = int(values.min()), int(values.max())
        line = int((values == (last if abs(last) > abs(first) else first)).argmax()) + 1
        raise DataError(
            f"{where}:{line}: labels from {first} to {last} make a feature of {sum(sizes):,} "
            f"columns, more than {MOST_CATEGORIES:,}; number them from 0 without gaps, or write "
            "them as attributes"
        )


def _check_indicator(owner: NDArray[np.int64], where: str) -> None:
    if owner[0] < 1:
        raise DataError(f"{where}:1: graph {owner[0]} is not a number from 1 on")
    falls = owner[1:] < owner[:-1]
    if falls.any():
        raise DataError(f"{where}:{int(falls.argmax()) + 2}: graph numbers must not fall")


def _check_edges(edges: NDArray[np.int32], owner: NDArray[np.int64], where: str) -> None:
    bad = ((edges < 1) | (edges > len(owner))).any(1)
    if bad.any():
        line = int(bad.argmax())
        raise DataError(
            f"{where}:{line + 1}: edge {edges[line, 0]}, {edges[line, 1]} names a missing node "
            f"(nodes are 1..{len(owner)})"
        )
    crossing = owner[edges[:, 0] - 1] != owner[edges[:, 1] - 1]
    if crossing.any():
        line = int(crossing.argmax())
        ends = owner[edges[line] - 1]
        raise DataError(f"{where}:{line + 1}: edge between graph {ends[0]} and graph {ends[1]}")


def load_tu(path: str, *, labelled: bool = True, **split: Any) -> Dataset:
    """A user's own TU set; ``split`` are the options of
    :func:`gmpool.data.make_splits.with_splits`. Without any it gets ten stratified folds."""
    return with_splits(Dataset.of(read_tu(path, labelled=labelled)), **split)


SOURCES.register("tu")(
    Source(
        load=lambda path, root, **options: load_tu(path, **options),
        options={"labelled": "", **OPTIONS},
        what="a TU folder or zip",
        accepts=lambda path: path.is_dir() or path.suffix == ".zip",
        files=".zip, a TU folder",
    )
)
