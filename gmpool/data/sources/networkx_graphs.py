"""Lists of NetworkX graphs to PackedGraphs and back."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from gmpool.data.labels import answers_or_numbers, check_task, class_fields, label_fields
from gmpool.data.pack import pack
from gmpool.data.packed import PackedGraphs
from gmpool.data.packed_fields import Task
from gmpool.errors import DataError, unknown

if TYPE_CHECKING:
    import networkx as nx


def from_networkx(
    graphs: Sequence[nx.Graph],
    *,
    name: str = "graphs",
    y: Sequence[Any] | None = None,
    task: Task | None = None,
    node_features: str | None = None,
    node_label: str | None = None,
    node_categories: Sequence[Any] | None = None,
    weight: str | None = "weight",
    without_features: Literal["degree", "constant"] = "degree",
) -> PackedGraphs:
    """Packs NetworkX graphs; an undirected edge becomes two directed ones.

    ``node_features`` names a node attribute that holds a number or a vector, ``node_label`` one
    that holds a category (any value; ``node_categories`` fixes their order). With neither, each
    node gets its degree as a category, or the constant 1. ``weight`` names the edge attribute for
    the adjacency's entries, used when any edge has it (then others count 1). Labels come from
    ``y``, else from ``graph.graph["y"]``: whole numbers or words are classes, floats are yes/no
    when all are 0, 1 or NaN and otherwise targets of a regression; ``task`` overrules this.
    """
    check_task(task)
    if not graphs:
        raise DataError(f"{name}: the list of graphs is empty")
    if without_features not in ("degree", "constant"):
        raise unknown("without_features", without_features, ("degree", "constant"))
    for i, graph in enumerate(graphs):
        if not hasattr(graph, "number_of_nodes"):
            raise DataError(f"graph {i}: {type(graph).__name__}, not a NetworkX graph")
    sizes = torch.tensor([g.number_of_nodes() for g in graphs], dtype=torch.int64)
    source, target, weights = _edges(graphs, weight)
    fields: dict[str, Any] = {}
    if node_features is not None:
        fields["node_float"] = _vectors(graphs, node_features)
    if node_label is not None:
        fields |= _categories(graphs, node_label, node_categories)
    if not fields and without_features == "constant":
        fields["node_float"] = torch.ones(int(sizes.sum()), 1)
    packed = pack(
        name=name,
        sizes=sizes,
        source=source,
        target=target,
        edge_weight=weights,
        **fields,
        **_labels(graphs, y, task, name),
    )
    if not fields:
        packed = packed.with_degree_features()
    return packed.validate()


def _fail(index: int, where: str, message: str) -> DataError:
    return DataError(f"graph {index}, {where}: {message}")


def _edges(graphs: Sequence[nx.Graph], key: str | None) -> tuple[Tensor, Tensor, Tensor | None]:
    """Sources, targets over the set and weights, [E] each."""
    source: list[int] = []
    target: list[int] = []
    weights: list[float] = []
    weighted, first = False, 0
    for index, graph in enumerate(graphs):
        number = {node: first + i for i, node in enumerate(graph.nodes)}
        first += len(number)
        for a, b, attributes in graph.edges(data=True):
            value: Any = 1.0
            if key is not None and key in attributes:
                value, weighted = attributes[key], True
            try:
                value = float(value)
            except (TypeError, ValueError, OverflowError):
                edge = f"edge {a!r} - {b!r}"
                raise _fail(index, edge, f"{key} {value!r} is not a number") from None
            both = not graph.is_directed() and a != b
            source += (number[a], number[b]) if both else (number[a],)
            target += (number[b], number[a]) if both else (number[b],)
            weights += (value, value) if both else (value,)
    ends = torch.tensor([source, target], dtype=torch.int64)
    return ends[0], ends[1], torch.tensor(weights) if weighted else None


def _node_values(graphs: Sequence[nx.Graph], key: str) -> list[tuple[int, Any, Any]]:
    """(graph, node, value) of every node; the attribute must be there."""
    values = []
    for index, graph in enumerate(graphs):
        for node, attributes in graph.nodes(data=True):
            if key not in attributes:
                raise _fail(index, f"node {node!r}", f"no attribute {key!r}")
            values.append((index, node, attributes[key]))
    return values


def _vectors(graphs: Sequence[nx.Graph], key: str) -> Tensor:
    rows: list[list[float]] = []
    for index, node, value in _node_values(graphs, key):
        try:
            row = np.asarray(value, dtype=np.float64).reshape(-1).tolist()
        except (TypeError, ValueError, OverflowError):
            problem = f"{key} {value!r} is not a number or vector"
            raise _fail(index, f"node {node!r}", problem) from None
        if rows and len(row) != len(rows[0]):
            problem = f"{key} has {len(row)} values, not {len(rows[0])}"
            raise _fail(index, f"node {node!r}", problem)
        rows.append(row)
    return torch.tensor(rows, dtype=torch.float32)  # [N, F]


def _categories(
    graphs: Sequence[nx.Graph], key: str, known: Sequence[Any] | None
) -> dict[str, Any]:
    values = _node_values(graphs, key)
    for index, node, value in values:
        if not isinstance(value, Hashable) or value != value:  # NaN is not even itself
            raise _fail(index, f"node {node!r}", f"{key} {value!r} cannot be a category")
    if known is None:
        try:
            known = sorted({value for _, _, value in values}, key=lambda v: (str(type(v)), v))
        except TypeError as error:
            raise DataError(f"{key}: {error}; give their order as node_categories") from error
    number = {value: i for i, value in enumerate(known)}
    if len(number) != len(known):
        raise DataError("node_categories names a category twice")
    for index, node, value in values:
        if value not in number:
            raise _fail(index, f"node {node!r}", f"{key} {value!r} is not a known category")
    column = torch.tensor([[number[value]] for _, _, value in values], dtype=torch.int64)
    return {"node_cat": column.view(-1, 1), "cat_sizes": (max(len(number), 1),)}


def _labels(
    graphs: Sequence[nx.Graph], y: Sequence[Any] | None, task: Task | None, name: str
) -> dict[str, Any]:
    values = list(y) if y is not None else [graph.graph.get("y") for graph in graphs]
    if len(values) != len(graphs):
        raise DataError(f"{name}: {len(values)} labels for {len(graphs)} graphs")
    if all(value is None for value in values):
        return {}
    if any(value is None for value in values):
        raise DataError(f"graph {values.index(None)}: no label, but other graphs have one")
    if all(isinstance(value, str) for value in values):
        return class_fields(values, "y")
    try:
        table = np.array([np.asarray(value, dtype=np.float64).reshape(-1) for value in values])
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(
            f"{name}: labels are not all numbers of the same count ({error})"
        ) from error
    whole = all(np.asarray(v).dtype.kind in "iub" and np.ndim(v) == 0 for v in values)
    if task is None:
        task = "multiclass" if whole else answers_or_numbers(table)
    return label_fields(table, tuple(f"y{i}" for i in range(table.shape[1])), task, name)


def to_networkx(graphs: PackedGraphs) -> list[nx.Graph]:
    """One graph each: undirected for a symmetric set, else directed; multigraphs where needed.

    Nodes carry ``x`` (a tuple of floats, as a batch shows them), edges ``edge_attr`` and ``weight``
    where the set has them, the graph ``y`` and ``name``.
    """
    import networkx as nx

    listed = []
    for g in range(graphs.num_graphs):
        one = graphs.batch([g])
        pairs = list(zip(*one.edge_index.tolist(), strict=True))
        parallel = len(set(pairs)) < len(pairs)
        kinds = (nx.DiGraph, nx.Graph, nx.MultiDiGraph, nx.MultiGraph)
        graph = kinds[2 * parallel + graphs.symmetric]()
        for node, row in enumerate(one.x.tolist()):
            graph.add_node(node, **({"x": tuple(row)} if row else {}))
        attributes: list[dict[str, Any]] = [{} for _ in pairs]
        for key, values in (("edge_attr", one.edge_attr), ("weight", one.edge_weight)):
            listed_values = [] if values is None else values.tolist()
            for entry, value in zip(attributes, listed_values, strict=False):
                entry[key] = tuple(value) if isinstance(value, list) else value
        for (a, b), entry in zip(pairs, attributes, strict=True):
            if a <= b or not graphs.symmetric:
                graph.add_edge(a, b, **entry)
        if one.y is not None:
            graph.graph["y"] = one.y[0].tolist()
        if graphs.graph_names is not None:
            graph.graph["name"] = graphs.graph_names[g]
        listed.append(graph)
    return listed
