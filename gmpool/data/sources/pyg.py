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
    node = _stack(graphs, "x", [int(n) for n in sizes])
    edge = _stack(graphs, "edge_attr", [e.size(1) for e in edges])
    weight = _stack(graphs, "edge_weight", [e.size(1) for e in edges])
    return pack(
        name=name,
        sizes=sizes,
        source=edge_index[0],
        target=edge_index[1],
        edge_weight=None if weight is None else weight.reshape(-1).float(),
        **_as_fields(node, "node_float", "node_cat", "cat_sizes", cat_sizes),
        **_as_fields(edge, "edge_float", "edge_cat", "edge_cat_sizes", edge_cat_sizes),
        **_labels(graphs, name, task, task_names),
    ).validate()


def _fail(index: int, field: str, message: str) -> DataError:
    return DataError(f"graph {index}, field {field}: {message}")


def _sizes(graphs: Sequence[Data]) -> tuple[Tensor, Tensor]:
    """Nodes of each graph [G] and the number of nodes before it [G]."""
    counts = []
    for i, data in enumerate(graphs):
        if data.x is None and "num_nodes" not in data and data.edge_index is None:
            raise _fail(i, "x", "neither x nor num_nodes is given")
        counts.append(int(data.num_nodes))
    sizes = torch.tensor(counts, dtype=torch.int64)
    return sizes, sizes.cumsum(0) - sizes


def _edge_index(data: Data, index: int, size: int) -> Tensor:
    edges = data.edge_index
    if edges is None:
        return torch.empty(2, 0, dtype=torch.int64)
    if edges.dim() != 2 or edges.size(0) != 2 or edges.is_floating_point():
        shape = f"{edges.dtype} {list(edges.shape)}"
        raise _fail(index, "edge_index", f"expected integers [2, E] (got {shape})")
    if edges.numel() and (int(edges.min()) < 0 or int(edges.max()) >= size):
        worst = int(edges.max()) if int(edges.min()) >= 0 else int(edges.min())
        raise _fail(index, "edge_index", f"node {worst} is missing; there are {size} nodes")
    return edges.cpu().long()


def _stack(graphs: Sequence[Data], field: str, rows: list[int]) -> Tensor | None:
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
        if parts and value.size(1) != parts[0].size(1):
            raise _fail(i, field, f"{value.size(1)} columns, expected {parts[0].size(1)}")
        if parts and value.is_floating_point() != parts[0].is_floating_point():
            raise _fail(i, field, f"{value.dtype}, but graph 0 has {parts[0].dtype}")
        parts.append(value)
    return torch.cat(parts)


def _as_fields(
    values: Tensor | None, floats: str, cat: str, sizes_name: str, sizes: Sequence[int] | None
) -> dict[str, Any]:
    if values is None or values.size(1) == 0:
        return {}
    if values.is_floating_point():
        return {floats: values.float()}
    values = values.long()
    found = [int(v) + 1 for v in values.max(0).values] if values.size(0) else [1] * values.size(1)
    if int(values.min() if values.numel() else 0) < 0:
        raise DataError(f"{cat}: categories must not be negative (got {int(values.min())})")
    given = list(sizes) if sizes is not None else found
    if len(given) != len(found) or any(f > g for f, g in zip(found, given, strict=False)):
        raise DataError(f"{sizes_name} is {given}, but the data needs at least {found}")
    return {cat: values, sizes_name: given}


def _labels(
    graphs: Sequence[Data], name: str, task: Task | None, task_names: Sequence[str] | None
) -> dict[str, Any]:
    have = [getattr(data, "y", None) is not None for data in graphs]
    if not any(have):
        return {}
    if not all(have):
        raise _fail(have.index(False), "y", "missing, but other graphs have it")
    values = [torch.as_tensor(data.y).cpu().reshape(-1) for data in graphs]
    for i, value in enumerate(values):
        if value.numel() != values[0].numel():
            raise _fail(i, "y", f"{value.numel()} values, but graph 0 has {values[0].numel()}")
    y = torch.stack(values)  # [G, T]
    names = tuple(task_names or (f"y{i}" for i in range(y.size(1))))
    if y.is_floating_point() or task in ("binary", "regression") or y.size(1) > 1:
        table = y.double().numpy()
        if task is None and y.is_floating_point():
            task = answers_or_numbers(table)
        return label_fields(table, names, task, name)
    if int(y.min()) < 0:
        bad = int((y < 0).any(1).nonzero()[0])
        raise _fail(bad, "y", f"class {int(y[bad])} is negative")
    classes = tuple(str(c) for c in range(int(y.max()) + 1))
    y = y.long().reshape(-1)
    return {"y": y, "task": "multiclass", "class_names": classes, "task_names": names}


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
