"""What X may be: SMILES, PyG or NetworkX graphs, or packed ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gmpool.data import Dataset, PackedGraphs, from_networkx, from_pyg, from_smiles
from gmpool.errors import DataError, UserError, WrongType

KINDS = "a list or Series of SMILES, of PyG Data or of NetworkX graphs, or PackedGraphs"


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
    if isinstance(X, Dataset):
        X = X.graphs
    if isinstance(X, PackedGraphs):
        _require_no_attributes(node_label, node_features, "PackedGraphs")
        return X
    listed = _listed(X)
    if not listed:
        raise DataError("X is empty: at least one graph is needed")
    first = listed[0]
    if isinstance(first, str):
        _require_no_attributes(node_label, node_features, "SMILES")
        return from_smiles(listed, name="X")
    if hasattr(first, "edge_index"):
        _require_no_attributes(node_label, node_features, "PyG Data")
        bare = [_without_labels(data) for data in listed]
        has_kinds = edge_cat_sizes or None  # numbers of edges are no kinds
        return from_pyg(bare, name="X", edge_cat_sizes=has_kinds)
    if hasattr(first, "number_of_nodes"):
        return from_networkx(
            [graph if "y" not in graph.graph else _unlabelled(graph) for graph in listed],
            name="X",
            node_label=node_label,
            node_features=node_features,
            node_categories=node_categories,
        )
    raise WrongType(f"X is {KINDS}, got {type(first).__name__} as its first entry")


def _listed(X: Any) -> list[Any]:
    """One entry for each graph: of an array or a table with one column that column."""
    if isinstance(X, str) or not isinstance(X, Iterable):
        raise WrongType(f"X is {KINDS}, got {type(X).__name__}")
    if hasattr(X, "to_numpy"):  # a Series or DataFrame
        X = X.to_numpy()
    if isinstance(X, np.ndarray):
        if X.ndim == 2 and X.shape[1] == 1:
            X = X[:, 0]
        if X.ndim != 1:
            raise DataError(f"X is {KINDS}; an array needs one column, got shape {X.shape}")
        X = X.tolist()
    return list(X)


def _require_no_attributes(label: str | None, features: str | None, what: str) -> None:
    for name, value in (("node_label", label), ("node_features", features)):
        if value is not None:
            raise UserError(f"{name}={value!r} names an attribute of NetworkX nodes; X is {what}")


def _without_labels(data: Any) -> Any:
    if not hasattr(data, "edge_index") or getattr(data, "y", None) is None:
        return data
    bare = data.clone()
    del bare.y
    return bare


def _unlabelled(graph: Any) -> Any:
    bare = graph.copy()
    del bare.graph["y"]
    return bare


def categories_of(X: Any, node_label: str | None) -> list[Any] | None:
    """The values of an attribute of NetworkX nodes, in the order in which they are numbered."""
    if node_label is None or not all(hasattr(graph, "nodes") for graph in X):
        return None  # what X is instead is said where it is packed
    values = {value for graph in X for _, value in graph.nodes(data=node_label)}
    return sorted(values, key=lambda value: (str(type(value)), value))
