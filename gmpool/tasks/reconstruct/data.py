"""Graphs to be reconstructed, from wherever they come, and the split to use with them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gmpool.atomic_files import PathLike
from gmpool.data import CATALOGUE, Dataset, Split, generate, load, load_table, random_split
from gmpool.data.sources.table import SUFFIXES
from gmpool.data.sources.tu import read_tu
from gmpool.errors import UserError


def reconstruct_data(
    name: str,
    root: PathLike | None = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    table: Mapping[str, Any] | None = None,
) -> Dataset:
    """A named set, a path (molecules in a table, whose atoms become types; a TU folder or zip; a
    packed file), or a graph that is made on the spot, such as "ring".

    parameters: of the graph that is made. table: options of load_table.
    """
    _refuse(parameters, name, _is_made(name), "a graph that is made on the spot, such as ring")
    _refuse(table, name, name.endswith(SUFFIXES), f"a table ({', '.join(SUFFIXES)})")
    if name.endswith(SUFFIXES):
        return load_table(name, atoms="types", **(table or {}))
    if _is_made(name):
        return generate(name, **(parameters or {}))
    if name not in CATALOGUE and (Path(name).is_dir() or name.endswith(".zip")):
        graphs = read_tu(name, labelled=False)
        return Dataset(graphs.name, graphs, (), None)
    return load(name, root)


def _is_made(name: str) -> bool:
    """Whether it can be nothing else: no set, and no sign of a path."""
    path = Path(name)
    return not (name in CATALOGUE or path.exists() or path.suffix or os.sep in name)


def _refuse(given: Mapping[str, Any] | None, name: str, fits: bool, what: str) -> None:
    for key, value in (given or {}).items():
        if value and not fits:
            raise UserError(f"{key} is for {what}, and {name!r} is none")


def reconstruct_split(dataset: Dataset) -> Split:
    """The first split of a set; without one, one graph is all three parts and many are divided
    80/10/10, always in the same way."""
    if dataset.folds:
        return dataset.folds[0]
    count = dataset.graphs.num_graphs
    if count == 1:
        whole = dataset.graphs.node_ptr.new_zeros(1)
        return Split(whole, whole, whole)
    if count < 3:
        raise UserError(
            f"{dataset.name} has {count} graphs, too few for training, validation and test; give "
            f"one graph, which is then all three, or at least 3"
        )
    return random_split(count)
