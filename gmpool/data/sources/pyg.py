"""Lists of PyG ``Data`` to PackedGraphs and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gmpool.data.labels import answers_or_numbers, check_task, label_fields
from gmpool.data.pack import pack
from gmpool.data.packed import PackedGraphs
from gmpool.data.packed_fields import Task
from gmpool.data.validity import MOST_CATEGORIES
from gmpool.errors import DataError

if TYPE_CHECKING:
    from torch_geometric.data import Data


def from_pyg(
    graphs: Sequence[Data],
    *,
    name: str = "graphs",
    task: Task | None = None,
    task_names: Sequence[str] | None = None,
    cat_sizes: Sequence[int] | None = None,
    edge_cat_sizes: Sequence[int] | None = None,
) -> PackedGraphs:
    """Packs ``Data`` objects; all must have the same fields.

    Float ``x`` and ``edge_attr`` become numeric features; integer ones become categorical columns
    with ``cat_sizes`` values each (by default one more than the largest value found). An integer
    ``y`` is a class number; a float ``y`` [T] is yes/no when all values are 0, 1 or NaN, otherwise
    a regression target; ``task`` overrules both. Self-loops and parallel edges are kept.
    """
    check_task(task)
    if not graphs:
        raise DataError(f"{name}: the list of graphs is empty")
    sizes, offsets = _sizes(graphs)
    edges = [_edge_index(data, i, int(sizes[i])) for i, data in enumerate(graphs)]
    edge_index = torch.cat([e + offsets[i] for i, e in enumerate(edges)], 1)  # [2, E]
    nodes, counts = sizes.tolist(), [e.size(1) for e in edges]
    node = _stack(graphs, "x", nodes)
    edge = _stack(graphs, "edge_attr", counts)
    weight = _stack(graphs, "edge_weight", counts, columns=1)
    return pack(
        name=name,
        sizes=sizes,
        source=edge_index[0],
        target=edge_index[1],
        edge_weight=None if weight is None else weight.reshape(-1).float(),
        **_as_fields(node, nodes, "node", "cat_sizes", cat_sizes),
        **_as_fields(edge, counts, "edge", "edge_cat_sizes", edge_cat_sizes),
        **_labels(graphs, name, task, task_names),
    ).validate()


def _fail(index: int, field: str, message: str) -> DataError:
    return DataError(f"graph {index}, field {field}: {message}")


def _sizes(graphs: Sequence[Data]) -> tuple[Tensor, Tensor]:
    """Nodes of each graph [G] and the number of nodes before it [G]."""
    from torch_geometric.data import Data

    counts = []
    for i, data in enumerate(graphs):
        if not isinstance(data, Data):
            raise DataError(f"graph {i}: {type(data).__name__}, not a torch_geometric Data")
        for field in ("x", "edge_index", "edge_attr", "edge_weight"):
            value = getattr(data, field, None)
            if value is not None and not _is_plain(value):
                what = type(value).__name__
                raise _fail(i, field, f"expected a dense tensor of real numbers (got {what})")
        if data.x is None and "num_nodes" not in data and data.edge_index is None:
            raise _fail(i, "x", "neither x nor num_nodes is given")
        count = data.num_nodes
        if not isinstance(count, int) or count < 0:
            raise _fail(i, "num_nodes", f"{count!r} is no count of nodes")
        counts.append(count)
    sizes = torch.tensor(counts, dtype=torch.int64)
    return sizes, sizes.cumsum(0) - sizes


def _is_plain(value: Any) -> bool:
    return isinstance(value, Tensor) and value.layout == torch.strided and not value.is_complex()


def _edge_index(data: Data, index: int, size: int) -> Tensor:
    edges = data.edge_index
    if edges is None:
        return torch.empty(2, 0, dtype=torch.int64)
    whole = not edges.is_floating_point() and edges.dtype != torch.bool
    if edges.dim() != 2 or edges.size(0) != 2 or not whole:
        shape = f"{edges.dtype} {list(edges.shape)}"
        raise _fail(index, "edge_index", f"expected integers [2, E] (got {shape})")
    edges = edges.cpu().long()
    if edges.numel() and (int(edges.min()) < 0 or int(edges.max()) >= size):
        worst = int(edges.max()) if int(edges.min()) >= 0 else int(edges.min())
        raise _fail(index, "edge_index", f"node {worst} is missing; there are {size} nodes")
    return edges


def _stack(
    graphs: Sequence[Data], field: str, rows: list[int], columns: int | None = None
) -> Tensor | None:
    """A per-node or per-edge field of all graphs, [rows, columns]; None if no graph has it."""
    if not any(getattr(data, field, None) is not None for data in graphs):
        return None
    parts: list[Tensor] = []
    for i, data in enumerate(graphs):
        value = getattr(data, field, None)
        if value is None:
            if rows[i] == 0:
                continue  # PyG users leave out what would be empty
            raise _fail(i, field, "missing, but other graphs have it")
        if value.dim() not in (1, 2):
            raise _fail(i, field, f"expected one or two dimensions (got {list(value.shape)})")
        value = value.cpu() if value.dim() == 2 else value.cpu().unsqueeze(1)
        if value.size(0) != rows[i]:
            raise _fail(i, field, f"{value.size(0)} rows, expected {rows[i]}")
        columns = value.size(1) if columns is None else columns
        if value.size(1) != columns:
            raise _fail(i, field, f"{value.size(1)} columns, expected {columns}")
        if parts and value.is_floating_point() != parts[0].is_floating_point():
            raise _fail(i, field, f"{value.dtype}, but graph 0 has {parts[0].dtype}")
        parts.append(value)
    return torch.cat(parts)


def _as_fields(
    values: Tensor | None, rows: list[int], kind: str, sizes_name: str, sizes: Sequence[int] | None
) -> dict[str, Any]:
    """The fields of nodes or edges (``kind``), of which graph g has rows[g]."""
    if values is None or values.size(1) == 0:
        return {}
    if values.is_floating_point():
        return {f"{kind}_float": values.float()}
    values = values.long()
    found = [int(v) + 1 for v in values.max(0).values] if values.size(0) else [1] * values.size(1)
    negative = (values < 0).any(1)
    if bool(negative.any()):
        row = int(negative.nonzero()[0])
        graph = int(torch.searchsorted(torch.tensor(rows).cumsum(0), row, right=True))
        field, worst = "x" if kind == "node" else "edge_attr", int(values[row].min())
        raise _fail(graph, field, f"categories must not be negative (got {worst})")
    given = list(sizes) if sizes is not None else found
    if len(given) != len(found) or any(f > g for f, g in zip(found, given, strict=False)):
        raise DataError(f"{sizes_name} is {given}, but the data needs at least {found}")
    return {f"{kind}_cat": values, sizes_name: given}


def _labels(
    graphs: Sequence[Data], name: str, task: Task | None, task_names: Sequence[str] | None
) -> dict[str, Any]:
    have = [getattr(data, "y", None) is not None for data in graphs]
    if not any(have):
        return {}
    if not all(have):
        raise _fail(have.index(False), "y", "missing, but other graphs have it")
    values = [_label(data.y, i) for i, data in enumerate(graphs)]
    for i, value in enumerate(values):
        if value.numel() != values[0].numel():
            raise _fail(i, "y", f"{value.numel()} values, but graph 0 has {values[0].numel()}")
    y = torch.stack(values)  # [G, T]
    names = tuple(task_names or (f"y{i}" for i in range(y.size(1))))
    if len(names) != y.size(1):
        raise DataError(f"{name}: {len(names)} task names for {y.size(1)} labels of a graph")
    if y.is_floating_point() or task in ("binary", "regression") or y.size(1) > 1:
        table = y.double().numpy()
        if task is None and y.is_floating_point():
            task = answers_or_numbers(table)
        return label_fields(table, names, task, name)
    if int(y.min()) < 0:
        bad = int((y < 0).any(1).nonzero()[0])
        raise _fail(bad, "y", f"class {int(y[bad])} is negative")
    if int(y.max()) >= MOST_CATEGORIES:  # before so many names are made
        raise _fail(
            int(y.argmax()), "y", f"class {int(y.max())}; number the classes from 0 without gaps"
        )
    classes = tuple(str(c) for c in range(int(y.max()) + 1))
    y = y.long().reshape(-1)
    return {"y": y, "task": "multiclass", "class_names": classes, "task_names": names}


def _label(value: Any, graph: int) -> Tensor:
    try:
        label = torch.as_tensor(value).cpu().reshape(-1)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise _fail(graph, "y", f"{type(value).__name__} is no number or tensor") from error
    if label.numel() == 0 or not _is_plain(label):
        raise _fail(graph, "y", f"expected numbers (got {label.dtype} {list(label.shape)})")
    return label


def to_pyg(graphs: PackedGraphs, *, one_hot: bool = True) -> list[Data]:
    """One ``Data`` per graph, edges sorted by (target, source).

    With ``one_hot``, ``x`` and ``edge_attr`` are what a batch shows; without it they are the
    integer columns as they are (OGB's convention), which needs a set without numeric features.
    """
    from torch_geometric.data import Data

    floats = graphs.node_float is not None or graphs.edge_float is not None
    if not one_hot and floats:
        raise DataError(f"{graphs.name}: one_hot=False needs a set without numeric features")
    whole = graphs.batch(range(graphs.num_graphs))
    x = whole.x if graphs.num_features else None
    nodes, edges = graphs.node_ptr.tolist(), graphs.rows.edge_ptr.tolist()
    fields = (
        ("x", x if one_hot else whole.node_cat, nodes),
        ("edge_attr", whole.edge_attr if one_hot else whole.edge_cat, edges),
        ("edge_weight", whole.edge_weight, edges),
    )
    listed = []
    for g in range(graphs.num_graphs):
        index = whole.edge_index[:, edges[g] : edges[g + 1]] - nodes[g]
        data = Data(edge_index=index, num_nodes=nodes[g + 1] - nodes[g])
        for field, value, ptr in fields:
            if value is not None:
                data[field] = value[ptr[g] : ptr[g + 1]]
        if graphs.y is not None:
            data.y = graphs.y[g : g + 1]
        listed.append(data)
    return listed
