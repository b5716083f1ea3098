"""The graphs among some nodes of a batch's graphs.

Nothing is sorted: what is left of edges sorted by target is sorted by target.
"""

import torch
from torch import Tensor

from gmpool.graph.edges import AnyEdges, DerivedEdges
from gmpool.graph.matrices import SparseMatrix
from gmpool.ops.row_ids import inverse, row_ids
from gmpool.ops.segment import Segments
from gmpool.ops.selection import places, renumbering, true_before
from gmpool.ops.sparse import Pattern


def induced(edges: AnyEdges, kept: Tensor, left: Segments) -> DerivedEdges:
    """The edges among the kept nodes (given ascending), with their weights and features.

    left: the graphs of the kept nodes. In a batch of fixed shape there are as many edges as before;
    those that are lost go to the rows that are made up.
    """
    a = edges.entries
    p, place = a.pattern, renumbering(kept, edges.num_nodes, left)
    rowptr, col, entries, running = _left(p.rowptr, p.col, kept, place, left)
    if p.t_col is p.col:
        t_rowptr, t_col, t_entries = rowptr, col, entries
    else:
        t_rowptr, t_col, t_entries, _ = _left(p.t_rowptr, p.t_col, kept, place, left)
    to_t = from_t = None
    if p.to_t is not None:
        place_t = torch.arange(t_entries.shape[0], device=col.device)
        to_t = running.index_select(0, p.to_t.index_select(0, t_entries))
        to_t = torch.where(place_t < running[-1], to_t, place_t)
        from_t = inverse(to_t)
    pattern = Pattern(rowptr, col, t_rowptr, t_col, to_t, from_t)
    weight, attr = a.weight, edges.edge_attr
    if weight is not None:
        weight = weight.index_select(0, entries)
    if attr is not None:
        which = entries if edges.order is None else edges.order.index_select(0, entries)
        attr = attr.index_select(0, which)
    return DerivedEdges(SparseMatrix(pattern, weight), dtype=edges.dtype, edge_attr=attr)


def _left(
    rowptr: Tensor, col: Tensor, kept: Tensor, place: Tensor, left: Segments
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(rowptr [M+1], col [E'], which entries they were [E'], entries left before each [E+1])"""
    E = col.shape[0]
    new_col = place.index_select(0, col)
    stays = (new_col >= 0) & (place.index_select(0, row_ids(rowptr, E)) >= 0)
    running = true_before(stays)
    entries = places(stays, None if left.real is None else E)
    starts = running.index_select(0, rowptr.index_select(0, kept))
    new_rowptr = torch.cat([starts, running[-1:]])
    new_col = new_col.index_select(0, entries)
    if left.real is not None:
        new_rowptr, new_col = _filled_up(new_rowptr, new_col, left.ptr[-2])
    return new_rowptr, new_col, entries, running


def _filled_up(rowptr: Tensor, col: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
    """What a matrix has fewer entries than room goes to the rows from `real` on, all at the last
    column: shared out, so that no row is longer than it need be. rowptr [M+1], col [E]"""
    M, E, total = rowptr.shape[0] - 1, col.shape[0], rowptr[-1]
    row = torch.arange(M + 1, device=col.device)
    more = (row - real) * (E - total) // (M - real)
    col = torch.where(torch.arange(E, device=col.device) < total, col, M - 1)
    return rowptr + more.clamp(min=0), col
