"""What X may be: SMILES, PyG or NetworkX graphs, or packed ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gmpool.data import Dataset, PackedGraphs, from_networkx, from_pyg, from_smiles
from gmpool.errors import DataError, UserError, WrongType
from gmpool.estimators.columns import UNORDERED, is_gap, plain

KINDS = "a list or Series of SMILES, of PyG Data or of NetworkX graphs, or PackedGraphs"
SMILES, PYG, NETWORKX = "SMILES", "PyG Data", "NetworkX graphs"


def listed(X: Any) -> Any:
    """PackedGraphs, or a list with one entry for each graph: of an array or a table with one column
    that column."""
    if isinstance(X, Dataset):
        return X.graphs
    if isinstance(X, PackedGraphs):
        return X
    if isinstance(X, UNORDERED) or not isinstance(X, Iterable):
        raise WrongType(f"X is {KINDS}, got {type(X).__name__}{_way_out(X)}")
    if _is_one_graph(X):
        way_out = "give X.to_data_list()" if hasattr(X, "to_data_list") else "put it into a list"
        raise WrongType(f"X is {KINDS}, got a {type(X).__name__} itself; {way_out}")
    names = list(getattr(X, "columns", ()))
    if hasattr(X, "to_numpy"):  # a Series or DataFrame
        X = X.to_numpy()
    if isinstance(X, np.ndarray):
        if X.ndim == 2 and X.shape[1] == 1:
            X = X[:, 0]
        if X.ndim != 1:
            way_out = f"; choose one, such as X[{names[0]!r}]" if names else ""
            raise DataError(
                f"X is {KINDS}; an array needs one column, got shape {X.shape}{way_out}"
            )
        X = X.tolist()
    return list(X)


def _is_one_graph(X: Any) -> bool:
    """Also PyG's Batch of many; its datasets are lists."""
    is_data = any(kind.__name__ == "BaseData" for kind in type(X).__mro__)
    return is_data or hasattr(X, "number_of_nodes")


def packed(
    X: Any,
    *,
    node_label: str | None = None,
    node_features: str | None = None,
    node_categories: Sequence[Any] | None = None,
    edge_cat_sizes: Sequence[int] | None = None,
) -> PackedGraphs:
    """The graphs of X without labels.

    node_label, node_features: attributes of the nodes of NetworkX graphs. node_categories,
    edge_cat_sizes: what a model has learned from, whose numbers count; None: X is learned from.
    """
    X = listed(X)
    if isinstance(X, PackedGraphs):
        _require_no_attributes(node_label, node_features, "PackedGraphs")
        return X
    if not X:
        raise DataError("X is empty: at least one graph is needed")
    kind = _kind_of(X)
    if kind == NETWORKX:
        return from_networkx(
            [graph if "y" not in graph.graph else _unlabelled(graph) for graph in X],
            name="X",
            node_label=node_label,
            node_features=node_features,
            node_categories=node_categories,
        )
    _require_no_attributes(node_label, node_features, kind)
    if kind == SMILES:
        return from_smiles(X, name="X")
    bare = [_without_labels(data) for data in X]
    has_kinds = edge_cat_sizes or None  # numbers of edges are no kinds
    return from_pyg(bare, name="X", edge_cat_sizes=has_kinds)


def _kind_of(X: Sequence[Any]) -> str:
    """Of all entries; what is no SMILES among SMILES is said where they are read."""
    there = next((row for row, entry in enumerate(X) if not is_gap(entry)), None)
    if there is None:
        raise DataError(f"X, row 0: {X[0]!r} is no graph, and no other row is; X is {KINDS}")
    kind = _kind(X[there])
    if kind is None:
        which = "as its first entry" if not there else f"in row {there}"
        raise WrongType(f"X is {KINDS}, got {type(X[there]).__name__} {which}{_way_out(X[there])}")
    for row, entry in enumerate(X if kind != SMILES else ()):
        if _kind(entry) != kind:
            raise WrongType(f"X, row {row}: {type(entry).__name__}, where row {there} is {kind}")
    return kind


def _way_out(entry: Any) -> str:
    is_molecule = hasattr(entry, "GetAtoms")
    return "; of an RDKit molecule give Chem.MolToSmiles(mol)" if is_molecule else ""


def _kind(entry: Any) -> str | None:
    if isinstance(entry, str):
        return SMILES
    if hasattr(entry, "edge_index"):
        return PYG
    return NETWORKX if hasattr(entry, "number_of_nodes") else None


def _require_no_attributes(label: str | None, features: str | None, what: str) -> None:
    for name, value in (("node_label", label), ("node_features", features)):
        if value is not None:
            raise UserError(f"{name}={value!r} names an attribute of NetworkX nodes; X is {what}")


def _without_labels(data: Any) -> Any:
    if getattr(data, "y", None) is None:
        return data
    bare = data.clone()
    del bare.y
    return bare


def _unlabelled(graph: Any) -> Any:
    bare = graph.copy()
    del bare.graph["y"]
    return bare


def categories_of(X: Any, node_label: str | None) -> list[Any] | None:
    """The values of an attribute of NetworkX nodes, in the order in which they are numbered. X: as
    `listed` gives it."""
    if node_label is None or isinstance(X, PackedGraphs):
        return None
    if not X or not all(hasattr(graph, "nodes") for graph in X):
        return None  # what X is instead is said where it is packed
    try:
        values = {plain(value) for graph in X for _, value in graph.nodes(data=node_label)}
        return sorted(values, key=lambda value: (str(type(value)), value))
    except TypeError:
        return None  # as is what cannot be a category
