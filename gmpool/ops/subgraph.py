"""Graphs that a pooling makes of a batch's graphs: some nodes kept, or others put in their place.

Nothing is sorted: what is left of edges sorted by target is sorted by target.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from gmpool.ops.adjacency import Adjacency, Edges
from gmpool.ops.segment import Segments
from gmpool.ops.sparse import Pattern, spmm


def kept_per_graph(counts: Tensor, ratio: float) -> Tensor:
    """ceil(ratio · n) of each graph; of a graph with nodes at least one. [B]"""
    # The product may lie a rounding error above a whole number.
    share = (counts.double() * ratio - 1e-9).ceil().to(counts.dtype)
    return torch.minimum(share.clamp(min=1), counts)


def ranking(score: Tensor, segments: Segments, tie: Tensor | None = None) -> Tensor:
    """The nodes graph by graph, in each the best score first. [N]

    Equal scores are sorted by `tie`, the larger first, and then by number.
    """
    if tie is None:
        by_score = torch.argsort(score.detach(), descending=True, stable=True)
    else:
        by_tie = torch.argsort(tie, descending=True, stable=True)
        again = score.detach().index_select(0, by_tie)
        by_score = by_tie.index_select(0, torch.argsort(again, descending=True, stable=True))
    by_graph = torch.argsort(segments.batch.index_select(0, by_score), stable=True)
    return by_score.index_select(0, by_graph)


def best_of_each(score: Tensor, segments: Segments, ratio: float) -> tuple[Tensor, Segments]:
    """The ceil(ratio · n) nodes of each graph with the best scores, ascending, and their graphs."""
    order, many = ranking(score, segments), kept_per_graph(segments.counts, ratio)
    rank = torch.arange(order.shape[0], device=order.device)
    graph = segments.batch.index_select(0, order)
    rank = rank - segments.ptr.index_select(0, graph)
    chosen = rank < many.index_select(0, graph)
    kept = order.masked_select(chosen).sort().values
    return kept, _segments_of(kept, many, segments)


def _segments_of(kept: Tensor, counts: Tensor, segments: Segments) -> Segments:
    new = renumbering(kept, segments.batch.shape[0]).index_select(0, segments.order)
    ptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    return Segments(segments.batch.index_select(0, kept), new.masked_select(new >= 0), ptr)


def renumbering(kept: Tensor, num_nodes: int) -> Tensor:
    """The place of each node among the kept ones, -1 for the others. [N]"""
    place = torch.arange(kept.shape[0], device=kept.device)
    none = torch.full((num_nodes,), -1, dtype=place.dtype, device=kept.device)
    return none.index_copy(0, kept.long(), place)


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
        is_loop = pattern.rows == pattern.col
        has_loop = torch.zeros(N, dtype=dtype, device=is_loop.device)
        has_loop = has_loop.index_fill(0, pattern.col.masked_select(is_loop).long(), 1.0)
        loop = (1 - has_loop)[:, None]
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


def induced(edges: Edges, kept: Tensor) -> DerivedEdges:
    """The edges among the kept nodes (given ascending), with their weights and features."""
    plain = edges.plain
    p, place = plain.pattern, renumbering(kept, edges.num_nodes)
    rowptr, col, entries, running = _left(p.rowptr, p.col, kept, place)
    if p.t_col is p.col:
        t_rowptr, t_col, t_entries = rowptr, col, entries
    else:
        t_rowptr, t_col, t_entries, _ = _left(p.t_rowptr, p.t_col, kept, place)
    to_t = from_t = None
    if p.to_t is not None and p.from_t is not None:
        to_t = running.index_select(0, p.to_t.index_select(0, t_entries))
        place_t = torch.arange(t_entries.shape[0], device=col.device)
        from_t = torch.zeros_like(to_t).index_copy(0, to_t, place_t)
    pattern = Pattern(rowptr, col, t_rowptr, t_col, to_t, from_t)
    weight = None if plain.weight is None else plain.weight.index_select(0, entries)
    attr = edges.edge_attr
    if attr is not None:
        by_target = edges._by_target
        which = entries if by_target is None else by_target.index_select(0, entries)
        attr = attr.index_select(0, which)
    return DerivedEdges(Adjacency(pattern, weight), dtype=edges.dtype, edge_attr=attr)


def _left(
    rowptr: Tensor, col: Tensor, kept: Tensor, place: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(rowptr [M+1], col [E'], which entries they were [E'], entries left before each [E+1])"""
    E = col.shape[0]
    new_col = place.index_select(0, col)
    counts = (rowptr[1:] - rowptr[:-1]).long()
    row_stays = torch.repeat_interleave(place >= 0, counts, output_size=E)
    stays = (new_col >= 0) & row_stays
    running = torch.zeros(E + 1, dtype=torch.long, device=col.device)
    torch.cumsum(stays, 0, out=running[1:])
    entries = stays.nonzero()[:, 0]
    starts = running.index_select(0, rowptr.index_select(0, kept))
    return torch.cat([starts, running[-1:]]), new_col.index_select(0, entries), entries, running
