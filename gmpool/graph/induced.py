"""Graphs that a pooling makes of a batch's graphs: some nodes kept, or others put in their place.

Nothing is sorted: what is left of edges sorted by target is sorted by target.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from gmpool.graph.edges import Adjacency, Edges, inverse
from gmpool.ops.row_ids import row_ids
from gmpool.ops.segment import Segments
from gmpool.ops.selection import places, renumbering, true_before
from gmpool.ops.sparse import Pattern, spmm


@dataclass(frozen=True)
class Normalised:
    """D^-1/2 (A + L) D^-1/2 as two scalings around A, with L a loop where a node has none."""

    adjacency: Adjacency
    loop: Tensor  # [N, 1]
    scale: Tensor  # D^-1/2, [N, 1]

    @classmethod
    def of(cls, adjacency: Adjacency, dtype: torch.dtype) -> Normalised:
        pattern, weight = adjacency.pattern, adjacency.weight
        N = pattern.rowptr.shape[0] - 1
        # Loops write to their node's slot, every other entry to the spare slot N.
        slot = torch.where(pattern.rows == pattern.col, pattern.col, N).long()
        loop = torch.ones(N + 1, dtype=dtype, device=slot.device).scatter(0, slot, 0.0)
        loop = loop[:N, None]
        if weight is None:
            degree = (pattern.rowptr[1:] - pattern.rowptr[:-1]).to(dtype)[:, None]
        else:
            degree = spmm(pattern, loop.new_ones(N, 1), weight)
        degree = degree + loop
        positive = degree > 0
        scale = torch.where(positive, torch.where(positive, degree, 1.0).rsqrt(), 0.0)
        return cls(adjacency, loop, scale)

    def matmul(self, x: Tensor) -> Tensor:
        """[N, D] -> [N, D]"""
        scale = self.scale.to(x.dtype)
        z = scale * x
        return scale * (self.adjacency.matmul(z) + self.loop.to(x.dtype) * z)


class DerivedEdges(Edges):
    """Edges of which the sparse matrix is known already, sorted by target."""

    def __init__(
        self, plain: Adjacency, *, dtype: torch.dtype, edge_attr: Tensor | None = None
    ) -> None:
        self.num_nodes = plain.pattern.rowptr.shape[0] - 1
        self.dtype, self.edge_weight, self.edge_attr = dtype, plain.weight, edge_attr
        self._plain, self._by_target = plain, None

    @cached_property
    def edge_index(self) -> Tensor:  # type: ignore[override]
        pattern = self.plain.pattern
        return torch.stack([pattern.col.long(), pattern.rows])

    @cached_property
    def gcn(self) -> Normalised:  # type: ignore[override]
        return Normalised.of(self.plain, self.dtype)


def induced(edges: Edges, kept: Tensor, left: Segments) -> DerivedEdges:
    """The edges among the kept nodes (given ascending), with their weights and features.

    left: the graphs of the kept nodes. In a batch of fixed shape there are as many edges as before;
    those that are lost go to the rows that are made up.
    """
    plain = edges.plain
    p, place = plain.pattern, renumbering(kept, edges.num_nodes, left)
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
    weight = None if plain.weight is None else plain.weight.index_select(0, entries)
    attr = edges.edge_attr
    if attr is not None:
        by_target = edges._by_target
        which = entries if by_target is None else by_target.index_select(0, entries)
        attr = attr.index_select(0, which)
    return DerivedEdges(Adjacency(pattern, weight), dtype=edges.dtype, edge_attr=attr)


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
