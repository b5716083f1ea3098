"""Per-set constants of the adjacency: transposes, the symmetric flag, the normalised operator."""

from typing import NamedTuple

import torch
from torch import Tensor


class Rows(NamedTuple):
    """Compressed rows of a whole set: row = node of the set, col = node inside its graph."""

    row_ptr: Tensor  # int64 [N+1]
    edge_ptr: Tensor  # int64 [G+1]: the entries of graph g are edge_ptr[g]:edge_ptr[g+1]
    col: Tensor  # small integer [E]
    weight: Tensor | None  # float32 [E]
    perm: Tensor | None  # integer [E]: in a transpose, the entry it came from, inside its graph


def small_int(largest: int) -> torch.dtype:
    """The smallest integer type that holds 0..largest (of those that every torch op supports)."""
    if largest < 2**8:
        return torch.uint8
    if largest < 2**15:
        return torch.int16
    return torch.int32 if largest < 2**31 else torch.int64


def local_ids(node_ptr: Tensor, dtype: torch.dtype) -> Tensor:
    """Each node's number inside its own graph, [N]."""
    count = int(node_ptr[-1])
    first = node_ptr[:-1].repeat_interleave(node_ptr.diff(), output_size=count)
    return (torch.arange(count, device=node_ptr.device) - first).to(dtype)


def local_targets(rows: Rows, node_ptr: Tensor) -> Tensor:
    """The row of each entry, counted inside its graph as ``col`` is, [E]."""
    local = local_ids(node_ptr, rows.col.dtype)
    return local.repeat_interleave(rows.row_ptr.diff(), output_size=rows.col.numel())


def _node_of_col(rows: Rows, node_ptr: Tensor) -> Tensor:
    """``col`` counted over the whole set, [E]; 32 bits where they suffice, to save memory."""
    dtype = torch.int32 if int(node_ptr[-1]) < 2**31 else torch.int64
    counts = rows.edge_ptr.diff()
    first = node_ptr[:-1].to(dtype).repeat_interleave(counts, output_size=rows.col.numel())
    return first.add_(rows.col)


def transpose(rows: Rows, node_ptr: Tensor) -> Rows:
    """Rows become columns. ``perm`` says where each new entry was, counted inside its graph.

    Entries are sorted by (row, col), so a stable sort by col gives them sorted by (col, row), and
    no entry leaves its graph.
    """
    num_nodes, num_edges = rows.row_ptr.numel() - 1, rows.col.numel()
    col = _node_of_col(rows, node_ptr)  # [E]
    row_ptr = torch.zeros_like(rows.row_ptr)
    torch.cumsum(torch.bincount(col, minlength=num_nodes), 0, out=row_ptr[1:])
    order = torch.sort(col, stable=True).indices  # [E]
    target = local_targets(rows, node_ptr)
    counts = rows.edge_ptr.diff()
    first = rows.edge_ptr[:-1].repeat_interleave(counts, output_size=num_edges)
    largest = int(counts.max()) if counts.numel() else 0
    return Rows(
        row_ptr,
        rows.edge_ptr,
        target.index_select(0, order),
        None if rows.weight is None else rows.weight.index_select(0, order),
        order.sub_(first).to(small_int(largest)),
    )


def is_symmetric(rows: Rows, other: Rows) -> bool:
    """Whether a matrix equals its transpose ``other``, entry for entry."""
    same = torch.equal(rows.row_ptr, other.row_ptr) and torch.equal(rows.col, other.col)
    if rows.weight is None or other.weight is None:
        return same
    return same and torch.equal(rows.weight, other.weight)


def gcn_normalised(rows: Rows, node_ptr: Tensor) -> Rows:
    """D^-1/2 (A + I) D^-1/2, the propagation of GCN (Kipf and Welling, ICLR 2017, eq. 2).

    D is the sum over in-edges, self-loops included. A node that has a self-loop already keeps that
    loop and its weight instead of getting a new one. A degree that is not positive counts as
    D^-1/2 = 0.
    """
    num_nodes = rows.row_ptr.numel() - 1
    rows, loop = _split_loops(rows, node_ptr)  # A without loops; loop weights [N]
    counts = rows.row_ptr.diff()
    num_edges = rows.col.numel()

    if rows.weight is None:
        degree = loop + counts
    else:
        degree = loop.index_add(
            0, torch.repeat_interleave(counts, output_size=num_edges), rows.weight
        )
    scale = torch.where(degree > 0, degree.rsqrt(), 0.0)  # D^-1/2, [N]
    weight = scale.index_select(0, _node_of_col(rows, node_ptr))  # [E]
    if rows.weight is not None:
        weight *= rows.weight
    weight *= scale.repeat_interleave(counts, output_size=num_edges)

    # Row i keeps its order by column, so its loop goes behind the columns smaller than i.
    local = local_ids(node_ptr, rows.col.dtype)
    smaller = rows.col < local.repeat_interleave(counts, output_size=num_edges)  # [E]
    running = torch.zeros(num_edges + 1, dtype=torch.int64, device=rows.col.device)
    torch.cumsum(smaller, 0, out=running[1:])
    before = running.index_select(0, rows.row_ptr).diff()  # [N]
    shift = torch.arange(num_nodes + 1, device=rows.col.device)
    row_ptr = rows.row_ptr + shift
    loop_at = row_ptr[:-1] + before
    is_edge = torch.ones(num_edges + num_nodes, dtype=torch.bool, device=rows.col.device)
    is_edge.index_fill_(0, loop_at, False)

    col = rows.col.new_empty(num_edges + num_nodes)
    col.masked_scatter_(is_edge, rows.col).index_copy_(0, loop_at, local)
    values = weight.new_empty(num_edges + num_nodes)
    values.masked_scatter_(is_edge, weight).index_copy_(0, loop_at, loop * scale * scale)
    return Rows(row_ptr, row_ptr.index_select(0, node_ptr), col, values, None)


def _split_loops(rows: Rows, node_ptr: Tensor) -> tuple[Rows, Tensor]:
    """The rows without their self-loops, and the weight that each node's loop shall have, [N]."""
    num_nodes = rows.row_ptr.numel() - 1
    loop = torch.ones(num_nodes, device=rows.col.device)
    counts = rows.row_ptr.diff()
    keep = rows.col != local_targets(rows, node_ptr)  # [E]
    if bool(keep.all()):
        return rows, loop
    node = torch.repeat_interleave(counts, output_size=rows.col.numel())  # [E]
    if rows.weight is not None:
        loop[node[~keep]] = rows.weight[~keep]
    row_ptr = torch.zeros_like(rows.row_ptr)
    torch.cumsum(torch.bincount(node[keep], minlength=num_nodes), 0, out=row_ptr[1:])
    weight = None if rows.weight is None else rows.weight[keep]
    kept = Rows(row_ptr, row_ptr.index_select(0, node_ptr), rows.col[keep], weight, None)
    return kept, loop


def features(
    floats: Tensor | None, cat: Tensor | None, sizes: tuple[int, ...], count: int
) -> Tensor:
    """float32 [count, F + sum(sizes)]: numeric columns, then each categorical column one-hot."""
    if cat is None:
        return torch.zeros(count, 0) if floats is None else floats
    width = 0 if floats is None else floats.size(1)
    x = torch.zeros(count, width + sum(sizes), device=cat.device)
    if floats is not None:
        x[:, :width] = floats
    first = torch.tensor([width + sum(sizes[:c]) for c in range(len(sizes))], device=cat.device)
    return x.scatter_(1, cat + first, 1.0)
