"""Whether a packed set can be what it says it is."""

from typing import NoReturn

import torch
from torch import Tensor

from gmpool.data.packed_fields import PackedFields
from gmpool.errors import DataError


def check(graphs: PackedFields) -> None:
    """Raises DataError with the graph, node or edge, and column of the first thing wrong."""
    _check_layout(graphs)
    _check_edges(graphs)
    _check_categories(graphs)
    for field in ("node_float", "edge_float", "edge_weight"):
        _check_finite(graphs, field)
    _check_labels(graphs)


def _fail(graphs: PackedFields, message: str) -> NoReturn:
    raise DataError(f"{graphs.name}: {message}")


def _place(graphs: PackedFields, field: str, row: int) -> str:
    """'graph 3, node 5' or 'graph 3, edge 2 -> 5' for a row of a node or edge tensor."""
    is_edge = field.startswith(("edge", "col"))
    node = int(torch.searchsorted(graphs.row_ptr, row, right=True)) - 1 if is_edge else row
    graph = int(torch.searchsorted(graphs.node_ptr, node, right=True)) - 1
    local = node - int(graphs.node_ptr[graph])
    what = f"edge {int(graphs.col[row])} -> {local}" if is_edge else f"node {local}"
    return f"graph {graph}, {what}"


def _check_layout(graphs: PackedFields) -> None:
    for field, ptr, end in (
        ("node_ptr", graphs.node_ptr, graphs.num_nodes),
        ("row_ptr", graphs.row_ptr, graphs.num_edges),
    ):
        ok = ptr.dim() == 1 and ptr.dtype == torch.int64 and ptr.numel() > 0
        if not ok or int(ptr[0]) != 0 or int(ptr[-1]) != end or bool((ptr.diff() < 0).any()):
            _fail(graphs, f"{field} must be ascending int64 offsets from 0 to {end}")
    rows = {"node": graphs.num_nodes, "edge": graphs.num_edges, "y": graphs.num_graphs}
    for field, value in graphs.tensors().items():
        want = rows.get(field.split("_")[0])
        if want is not None and field != "node_ptr" and value.size(0) != want:
            _fail(graphs, f"{field} has {value.size(0)} rows, expected {want}")
    if graphs.graph_names is not None and len(graphs.graph_names) != graphs.num_graphs:
        _fail(graphs, f"{len(graphs.graph_names)} graph names for {graphs.num_graphs} graphs")


def _check_edges(graphs: PackedFields) -> None:
    edge_ptr = graphs.row_ptr.index_select(0, graphs.node_ptr)
    limit = graphs.sizes.repeat_interleave(edge_ptr.diff(), output_size=graphs.num_edges)
    bad = (graphs.col < 0) | (graphs.col >= limit)  # [E]
    if bool(bad.any()):
        edge = int(bad.nonzero()[0])
        place = _place(graphs, "col", edge)
        _fail(graphs, f"{place}: that graph has only {int(limit[edge])} nodes")


def _check_categories(graphs: PackedFields) -> None:
    for field, cat, sizes in (
        ("node_cat", graphs.node_cat, graphs.cat_sizes),
        ("edge_cat", graphs.edge_cat, graphs.edge_cat_sizes),
    ):
        width = 0 if cat is None else cat.size(1)
        if width != len(sizes):
            _fail(graphs, f"{field} has {width} columns, but {len(sizes)} sizes are given")
        if cat is None:
            continue
        for column, size in enumerate(sizes):
            bad = (cat[:, column] < 0) | (cat[:, column] >= size)
            if bool(bad.any()):
                row = int(bad.nonzero()[0])
                place, value = _place(graphs, field, row), int(cat[row, column])
                _fail(graphs, f"{place}, {field} column {column}: {value} is not in 0..{size - 1}")
    names = len(graphs.node_type_names)
    if names and graphs.cat_sizes != (names,):
        _fail(graphs, f"{names} node type names for columns of sizes {graphs.cat_sizes}")


def _check_finite(graphs: PackedFields, field: str) -> None:
    values: Tensor | None = getattr(graphs, field)
    if values is None:
        return
    bad = ~torch.isfinite(values)
    if bool(bad.any()):
        at = bad.nonzero()[0].tolist()  # [row] or [row, column]
        column = f" column {at[1]}" if len(at) > 1 else ""
        value = float(values[tuple(at)])
        _fail(graphs, f"{_place(graphs, field, at[0])}, {field}{column}: value is {value}")


def _check_labels(graphs: PackedFields) -> None:
    y = graphs.y
    if y is None:
        return
    if graphs.task == "multiclass":
        if y.dim() != 1 or y.dtype != torch.int64:
            _fail(graphs, f"multiclass y must be int64 [G] (got {y.dtype} {list(y.shape)})")
        bad = (y < 0) | (y >= graphs.num_classes)
        reason = f"is not a class in 0..{graphs.num_classes - 1}"
    elif graphs.task in ("binary", "regression"):
        if y.dim() != 2 or y.size(1) != len(graphs.task_names):
            expected = f"[G, {len(graphs.task_names)}]"
            _fail(graphs, f"{graphs.task} y must be {expected} (got {list(y.shape)})")
        bad, reason = torch.isinf(y), "is not finite"
        if graphs.task == "binary":
            bad, reason = ~(torch.isnan(y) | (y == 0) | (y == 1)), "is not 0, 1 or missing"
    else:
        _fail(graphs, f"y is given, but the task is {graphs.task!r}")
    if bool(bad.any()):
        at = bad.nonzero()[0].tolist()
        column = f", {graphs.task_names[at[1]]}" if len(at) > 1 else ""
        _fail(graphs, f"graph {at[0]}{column}: label {y[tuple(at)].item():g} {reason}")
