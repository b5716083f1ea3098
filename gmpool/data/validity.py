"""Whether a packed set can be what it says it is."""

from dataclasses import replace
from typing import NoReturn

import torch
from torch import Tensor

from gmpool.data.packed_fields import PackedFields
from gmpool.data.splits import Split
from gmpool.errors import DataError
from gmpool.plain_text import shortened

AT_A_TIME = 2**24
"""Nodes and edges: checking takes some ten bytes for each."""
MOST_CATEGORIES = 1 << 16
"""The widest one-hot features that a set may have: in a batch, each node has so many numbers."""


def check(graphs: PackedFields) -> None:
    """Raises DataError with the graph, node or edge, and column of the first thing wrong."""
    check_types(graphs)
    _check_layout(graphs)
    if graphs.num_entries <= AT_A_TIME:
        _check_content(graphs)
        return
    together = max(graphs.num_graphs * AT_A_TIME // graphs.num_entries, 1)
    for first in range(0, graphs.num_graphs, together):
        last = min(first + together, graphs.num_graphs)
        part = graphs.between(first, last)
        # Messages count graphs from the first of the part.
        name = f"{graphs.name} from graph {first} on" if first else graphs.name
        _check_content(replace(part, name=name))


def _check_content(graphs: PackedFields) -> None:
    _check_edges(graphs)
    _check_categories(graphs)
    for field in ("node_float", "edge_float", "edge_weight"):
        _check_finite(graphs, field)
    _check_graph_features(graphs)
    _check_labels(graphs)


def _fail(graphs: PackedFields, message: str) -> NoReturn:
    raise DataError(f"{shortened(graphs.name)}: {message}")


def _place(graphs: PackedFields, field: str, row: int) -> str:
    """'graph 3, node 5' or 'graph 3, edge 2 -> 5' for a row of a node or edge tensor."""
    is_edge = field.startswith(("edge", "col"))
    node = int(torch.searchsorted(graphs.row_ptr, row, right=True)) - 1 if is_edge else row
    graph = int(torch.searchsorted(graphs.node_ptr, node, right=True)) - 1
    local = node - int(graphs.node_ptr[graph])
    what = f"edge {int(graphs.col[row])} -> {local}" if is_edge else f"node {local}"
    return f"graph {graph}, {what}"


def check_types(graphs: PackedFields) -> None:
    """Types and dimensions, before anything is computed with them."""
    for field, value in graphs.tensors().items():
        dtypes, dims = _TENSORS.get(field, ((), ()))
        if value.dtype not in dtypes or value.dim() not in dims:
            kinds = " or ".join(str(dtype).removeprefix("torch.") for dtype in dtypes)
            ranks = " or ".join(map(str, dims))
            found = f"{value.dtype} {list(value.shape)}"
            _fail(graphs, f"{field} must be {kinds} of {ranks} dimensions (got {found})")
    if not isinstance(graphs.name, str):
        raise DataError(f"the name of a set must be a string (got {graphs.name!r})")
    for field, kind in _TUPLES.items():
        values = getattr(graphs, field)
        if field == "graph_names" and values is None:
            continue
        fine = isinstance(values, tuple) and all(isinstance(value, kind) for value in values)
        if not fine or any(isinstance(value, bool) for value in values):
            _fail(graphs, f"{field} must be a tuple of {kind.__name__}")
        if kind is int and not all(-(2**63) <= value < 2**63 for value in values):
            _fail(graphs, f"{field} holds numbers beyond 64 bits")


_SMALL = (torch.uint8, torch.int16, torch.int32, torch.int64)
_TENSORS = {
    "node_ptr": ((torch.int64,), (1,)),
    "row_ptr": ((torch.int64,), (1,)),
    "col": (_SMALL, (1,)),
    "node_cat": (_SMALL, (2,)),
    "edge_cat": (_SMALL, (2,)),
    "node_float": ((torch.float32,), (2,)),
    "edge_float": ((torch.float32,), (2,)),
    "edge_weight": ((torch.float32,), (1,)),
    "graph_float": ((torch.float32,), (2,)),
    "graph_weight": ((torch.float32,), (1,)),
    "y": ((torch.int64, torch.float32), (1, 2)),
}
_TUPLES: dict[str, type] = {
    "cat_sizes": int,
    "cat_starts": int,
    "edge_cat_sizes": int,
    "node_type_names": str,
    "class_names": str,
    "task_names": str,
    "graph_names": str,
    "graph_float_names": str,
}


def _check_layout(graphs: PackedFields) -> None:
    for field, ptr, end in (
        ("node_ptr", graphs.node_ptr, graphs.num_nodes),
        ("row_ptr", graphs.row_ptr, graphs.num_edges),
    ):
        # Compared, not subtracted: a difference can wrap.
        ok = ptr.numel() > 0 and int(ptr[0]) == 0 and int(ptr[-1]) == end
        if not ok or bool((ptr[1:] < ptr[:-1]).any()):
            _fail(graphs, f"{field} must be ascending int64 offsets from 0 to {end}")
    G = graphs.num_graphs
    rows = {"node": graphs.num_nodes, "edge": graphs.num_edges, "y": G, "graph": G}
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
    falls = graphs.col[1:] < graphs.col[:-1]  # [E-1]; allowed where the next node's edges begin
    starts = graphs.row_ptr[1:-1]
    falls[starts[(starts > 0) & (starts < graphs.num_edges)] - 1] = False
    if bool(falls.any()):
        place = _place(graphs, "col", int(falls.nonzero()[0]) + 1)
        _fail(graphs, f"{place}: the sources of a node's edges must be in ascending order")


def _check_categories(graphs: PackedFields) -> None:
    for field, cat, sizes in (
        ("node_cat", graphs.node_cat, graphs.cat_sizes),
        ("edge_cat", graphs.edge_cat, graphs.edge_cat_sizes),
    ):
        width = 0 if cat is None else cat.size(1)
        if width != len(sizes):
            _fail(graphs, f"{field} has {width} columns, but {len(sizes)} sizes are given")
        if min(sizes, default=1) < 1 or sum(sizes) > MOST_CATEGORIES:
            _fail(
                graphs,
                f"{field} makes {sum(sizes):,} columns of 0 and 1 (sizes {_short(sizes)}); at most "
                f"{MOST_CATEGORIES:,} are possible: number its values without gaps, or make them "
                "numeric features",
            )
        if cat is None:
            continue
        for column, size in enumerate(sizes):
            values = cat[:, column]
            # Not compared with the size in their own type, in which it may wrap.
            if values.numel() and not 0 <= int(values.min()) <= int(values.max()) < size:
                row = int(((values < 0) | (values.long() >= size)).nonzero()[0])
                place, value = _place(graphs, field, row), int(cat[row, column])
                _fail(graphs, f"{place}, {field} column {column}: {value} is not in 0..{size - 1}")
    if graphs.cat_starts and len(graphs.cat_starts) != len(graphs.cat_sizes):
        _fail(graphs, f"{len(graphs.cat_starts)} cat_starts for {len(graphs.cat_sizes)} cat_sizes")
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


def _check_graph_features(graphs: PackedFields) -> None:
    floats, weight, names = graphs.graph_float, graphs.graph_weight, graphs.graph_float_names
    width = 0 if floats is None else floats.size(1)
    if width != len(names):
        _fail(graphs, f"graph_float has {width} columns, but {len(names)} names are given")
    if floats is not None and bool(floats.isinf().any()):
        graph, column = floats.isinf().nonzero()[0].tolist()
        _fail(graphs, f"graph {graph}, {names[column]}: value is {float(floats[graph, column])}")
    if weight is not None:
        bad = ~(weight.isfinite() & (weight >= 0))
        if bool(bad.any()):
            graph = int(bad.nonzero()[0])
            _fail(graphs, f"graph {graph}: weight is {float(weight[graph])}, not 0 or more")


def _check_labels(graphs: PackedFields) -> None:
    y = graphs.y
    if y is None:
        if graphs.task is not None:
            _fail(graphs, f"the task is {graphs.task!r}, but y is missing")
        return
    if graphs.task == "multiclass":
        if y.dim() != 1 or y.dtype != torch.int64:
            _fail(graphs, f"multiclass y must be int64 [G] (got {y.dtype} {list(y.shape)})")
        if len(graphs.task_names) > 1:
            _fail(graphs, f"multiclass labels have one name (got {_short(graphs.task_names)})")
        bad = (y < 0) | (y >= graphs.num_classes)
        reason = f"is not a class in 0..{graphs.num_classes - 1}"
    elif graphs.task in ("binary", "regression"):
        if y.dim() != 2 or not y.is_floating_point() or y.size(1) != len(graphs.task_names):
            expected = f"float32 [G, {len(graphs.task_names)}]"
            _fail(graphs, f"{graphs.task} y must be {expected} (got {y.dtype} {list(y.shape)})")
        if graphs.class_names:
            _fail(
                graphs, f"{graphs.task} labels have no classes (got {_short(graphs.class_names)})"
            )
        bad, reason = torch.isinf(y), "is not finite"
        if graphs.task == "binary":
            bad, reason = ~(torch.isnan(y) | (y == 0) | (y == 1)), "is not 0, 1 or missing"
    else:
        _fail(graphs, f"y is given, but the task is {graphs.task!r}")
    if bool(bad.any()):
        at = bad.nonzero()[0].tolist()
        column = f", {graphs.task_names[at[1]]}" if len(at) > 1 else ""
        _fail(graphs, f"graph {at[0]}{column}: label {y[tuple(at)].item():g} {reason}")


def check_split(split: Split, num_graphs: int, where: str) -> None:
    """Raises DataError for ids that are no graphs, and for graphs in more than one part.

    A set of one graph has nothing to hold back: there the parts may be the same.
    """
    where = shortened(where)
    parts = {"train": split.train, "valid": split.valid, "test": split.test}
    seen = torch.full((num_graphs,), -1, dtype=torch.int8)
    for number, (part, ids) in enumerate(parts.items()):
        if ids.dim() != 1 or ids.dtype != torch.int64:
            shape = f"{ids.dtype} {list(ids.shape)}"
            raise DataError(f"{where}: split part {part} must be int64 ids (got {shape})")
        bad = (ids < 0) | (ids >= num_graphs)
        if bool(bad.any()):
            graph = int(ids[bad][0])
            raise DataError(
                f"{where}: split part {part} names graph {graph}, but there are {num_graphs}"
            )
        taken = seen[ids] >= 0
        if num_graphs > 1 and bool(taken.any()):
            graph = int(ids[taken][0])
            other = list(parts)[int(seen[graph])]
            raise DataError(f"{where}: graph {graph} is in the split parts {other} and {part}")
        seen[ids] = number
        if int((seen == number).sum()) != ids.numel():
            raise DataError(f"{where}: split part {part} names a graph twice")


def _short(values: tuple[object, ...]) -> str:
    shown = ", ".join(repr(value)[:20] for value in values[:4])
    return f"{shown}, …" if len(values) > 4 else shown
