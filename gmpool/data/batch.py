"""GraphBatch: the disjoint union of some graphs of a set, made by index arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from gmpool.data.compressed_rows import Rows, features
from gmpool.data.constants import PackedConstants

Ids = Tensor | Sequence[int]


class CSR(NamedTuple):
    """A sparse [N, N] matrix with its transpose: rows are targets, columns are sources.

    In a symmetric set the ``t_`` tensors are the same objects as the forward ones. Positions are
    int32 unless the set has more than 2**31 entries: half the bytes to make and to read.
    """

    rowptr: Tensor  # [N+1]
    col: Tensor  # [E]
    weight: Tensor | None  # float32 [E]; None = all ones
    t_rowptr: Tensor  # [N+1], rows are sources
    t_col: Tensor  # [E], columns are targets
    t_weight: Tensor | None  # float32 [E] = weight[t_perm]
    t_perm: Tensor | None  # [E]: entry of the transpose -> entry of the matrix


class GraphBatch:
    """B graphs as one graph of N nodes; whatever is not asked for is not computed.

    Built on the device that holds the set, with no loop over graphs: the nodes and edges of a
    graph lie together in the set, so each position in the batch is a position in the set plus a
    shift that depends on the graph alone.
    """

    def __init__(self, graphs: PackedConstants, ids: Ids) -> None:
        self.graphs = graphs
        self.ids = torch.as_tensor(ids, dtype=torch.int64, device=graphs.device)  # [B]
        """int64 [B]: which graphs of the set these are."""

    def __repr__(self) -> str:
        return f"GraphBatch({self.graphs.name!r}, graphs={self.num_graphs}, nodes={self.num_nodes})"

    @property
    def num_graphs(self) -> int:
        return self.ids.numel()

    @cached_property
    def num_nodes(self) -> int:
        return int(self.ptr[-1])

    @cached_property
    def ptr(self) -> Tensor:
        """int64 [B+1]: the nodes of graph b are ptr[b]:ptr[b+1]."""
        return _offsets(self._sizes)

    @cached_property
    def batch(self) -> Tensor:
        """int64 [N]: the graph of each node, ascending."""
        return _spread(self._numbers, self._sizes, self.num_nodes)

    @cached_property
    def x(self) -> Tensor:
        """float32 [N, num_features]: numeric columns, then the categorical ones one-hot."""
        dense = self.graphs.dense_x
        if dense is not None:
            return dense.index_select(0, self.node_ids)
        return features(self.node_float, self.node_cat, self.graphs.cat_sizes, self.num_nodes)

    @cached_property
    def node_float(self) -> Tensor | None:
        """float32 [N, F]."""
        return _take(self.graphs.node_float, self.node_ids)

    @cached_property
    def node_cat(self) -> Tensor | None:
        """int64 [N, C]: the categorical columns as numbers, for embedding tables."""
        cat = _take(self.graphs.node_cat, self.node_ids)
        return None if cat is None else cat.long()

    @cached_property
    def y(self) -> Tensor | None:
        """int64 [B] or float32 [B, T]; None for unlabelled data."""
        return _take(self.graphs.y, self.ids)

    @cached_property
    def graph_float(self) -> Tensor | None:
        """float32 [B, F]; NaN where a feature is not defined."""
        return _take(self.graphs.graph_float, self.ids)

    @cached_property
    def graph_weight(self) -> Tensor | None:
        """float32 [B]."""
        return _take(self.graphs.graph_weight, self.ids)

    @cached_property
    def edge_index(self) -> Tensor:
        """int64 [2, E]: row 0 the sources, row 1 the targets (PyG's convention)."""
        rowptr, col = self.graph.rowptr, self.graph.col
        node = torch.arange(self.num_nodes, device=col.device)
        return torch.stack([col.long(), _spread(node, rowptr.diff(), col.numel())])

    @cached_property
    def edge_cat(self) -> Tensor | None:
        """int64 [E, Ce]: the categorical columns as numbers, for embedding tables."""
        cat = _take(self.graphs.edge_cat, self.edge_ids)
        return None if cat is None else cat.long()

    @cached_property
    def edge_attr(self) -> Tensor | None:
        """float32 [E, num_edge_features]: numeric columns, then the categorical ones one-hot."""
        if self.graphs.edge_float is None and self.graphs.edge_cat is None:
            return None
        floats = _take(self.graphs.edge_float, self.edge_ids)
        return features(floats, self.edge_cat, self.graphs.edge_cat_sizes, self.edge_ids.numel())

    @property
    def bond_kinds(self) -> Tensor | None:
        """float32 [C, num_edge_features]: the distinct rows of ``edge_attr`` in the whole set,
        where they are few and there are codes (:mod:`gmpool.data.constants`)."""
        kinds = self.graphs.bond_kinds
        return None if kinds is None else kinds.rows

    @cached_property
    def graph_code(self) -> Tensor | None:
        """uint8 [E]: which of the kinds each entry of ``graph`` is."""
        kinds = self.graphs.bond_kinds
        return None if kinds is None else kinds.graph.index_select(0, self.edge_ids)

    @cached_property
    def gcn_code(self) -> Tensor | None:
        """uint8 [E + N]: which of the kinds each entry of ``gcn`` is, with C for self-loops."""
        kinds = self.graphs.bond_kinds
        return None if kinds is None else kinds.gcn.index_select(0, self._gcn_entries.where)

    @property
    def edge_weight(self) -> Tensor | None:
        """float32 [E]."""
        return self.graph.weight

    @cached_property
    def graph(self) -> CSR:
        """The adjacency as it is. A transpose moves no entry out of its graph, so the same
        positions serve both ways."""
        return self._matrix(self.graphs.rows, self.graphs.reversed_rows, self._edges)

    @cached_property
    def gcn(self) -> CSR:
        """D^-1/2 (A + I) D^-1/2, as PyG's ``gcn_norm`` gives it; see ``gcn_normalised``.

        In a symmetric set nobody needs ``t_perm``, and it is None.
        """
        back = None if self.graphs.symmetric else self.graphs.gcn_reversed_rows
        return self._matrix(self.graphs.gcn_rows, back, self._gcn_entries)

    @cached_property
    def row_ptr(self) -> Tensor:
        """integer [N+1]: where each node's in-edges begin. Nothing but the set's own fields is
        read for it."""
        return self._row_ptr(self.graphs.rows, self._edges)

    @property
    def numbers(self) -> Tensor:
        """int64 [B]: what its graphs are called in the set that the given one may be a part of."""
        return self.graphs.numbers.index_select(0, self.ids)

    # -- positions in the set -------------------------------------------------------------------

    @cached_property
    def node_ids(self) -> Tensor:
        """integer [N]: where each node of the batch lies in the set."""
        first = self.graphs.node_ptr.index_select(0, self.ids)  # [B]
        shift = first - self.ptr[:-1]
        return _positions(shift, self._sizes, self.num_nodes, self.graphs.num_nodes)

    @property
    def edge_ids(self) -> Tensor:
        """integer [E]: where each edge of the batch lies in the set."""
        return self._edges.where

    @cached_property
    def _sizes(self) -> Tensor:
        return self.graphs.sizes.index_select(0, self.ids)  # [B]

    @property
    def _numbers(self) -> Tensor:
        """int64 [B]: the number of each graph in its batch."""
        return torch.arange(self.num_graphs, device=self.ids.device)

    def _begin(self, ptr: Tensor) -> Tensor:
        """[B]: where each graph begins in its batch, from offsets ``ptr`` [B+1] of the graphs."""
        return ptr[:-1]

    @cached_property
    def _edges(self) -> _Entries:
        return self._entries(self.graphs.rows)

    @cached_property
    def _gcn_entries(self) -> _Entries:
        return self._entries(self.graphs.gcn_rows)

    def _entries(self, rows: Rows) -> _Entries:
        first = rows.edge_ptr.index_select(0, self.ids)  # [B]
        counts = rows.edge_ptr.index_select(0, self.ids + 1) - first  # [B]
        ptr = _offsets(counts)  # [B+1]
        shift = first - ptr[:-1]  # [B]
        where = _positions(shift, counts, int(ptr[-1]), rows.col.numel())  # [E]
        return _Entries(where, counts, ptr, shift)

    def _matrix(self, rows: Rows, back: Rows | None, entries: _Entries) -> CSR:
        """``back`` is the transpose of ``rows``; None where nobody needs to know its order."""
        forward = self._gather(rows, entries)
        perm = None if back is None else _shifted(back.perm, entries, self._begin(entries.ptr))
        if back is None or self.graphs.symmetric:
            return CSR(*forward, *forward, perm)
        return CSR(*forward, *self._gather(back, entries), perm)

    def _gather(self, rows: Rows, entries: _Entries) -> tuple[Tensor, Tensor, Tensor | None]:
        """rowptr [N+1], col [E] and weight [E] of the batch."""
        rowptr = self._row_ptr(rows, entries)
        col = _shifted(rows.col, entries, self._begin(self.ptr))
        return rowptr, col, _take(rows.weight, entries.where)

    def _row_ptr(self, rows: Rows, entries: _Entries) -> Tensor:
        rowptr = entries.where.new_empty(self.num_nodes + 1)
        shift = _spread(entries.shift, self._sizes, self.num_nodes)
        torch.sub(rows.row_ptr.index_select(0, self.node_ids), shift, out=rowptr[:-1])
        rowptr[-1] = entries.where.numel()
        return rowptr


class _Entries(NamedTuple):
    """The matrix entries that belong to a batch."""

    where: Tensor  # [E]: their positions in the set
    counts: Tensor  # [B]: how many each graph has
    ptr: Tensor  # [B+1]: where each graph's entries begin in the batch
    shift: Tensor  # [B]: position in the set minus position in the batch


def _offsets(counts: Tensor) -> Tensor:
    """[B] counts to [B+1] offsets."""
    ptr = counts.new_zeros(counts.numel() + 1)
    torch.cumsum(counts, 0, out=ptr[1:])
    return ptr


def _spread(values: Tensor, counts: Tensor, total: int) -> Tensor:
    """[B] to [total]: values[0] counts[0] times, then values[1] counts[1] times, and so on."""
    if values.device.type != "cpu":
        return values.repeat_interleave(counts, output_size=total)
    # On a CPU torch starts threads for it, which costs more than the work.
    return torch.from_numpy(np.repeat(values.numpy(), counts.numpy()))


def _positions(shift: Tensor, counts: Tensor, total: int, of: int) -> Tensor:
    """[total]: position in the batch plus its graph's shift, a position among ``of`` in the set.

    32 bits where they suffice: on a CPU torch adds them six times as fast as 64.
    """
    dtype = torch.int32 if max(total, of) < 2**31 else torch.int64
    return _spread(shift.to(dtype), counts, total).add_(_count_to(total, dtype, shift.device))


_COUNTS: dict[tuple[torch.dtype, torch.device], Tensor] = {}


def _count_to(total: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """0..total-1; the longest so far is kept, for every batch needs it."""
    kept = _COUNTS.get((dtype, device))
    if kept is None or kept.numel() < total:
        kept = _COUNTS[dtype, device] = torch.arange(total, dtype=dtype, device=device)
    return kept[:total]


def _shifted(local: Tensor | None, entries: _Entries, first: Tensor) -> Tensor:
    """[E]: numbers ``local`` to a graph, plus where that graph begins in the batch."""
    assert local is not None
    dtype, total = entries.where.dtype, entries.where.numel()
    base = _spread(first.to(dtype), entries.counts, total)
    return base.add_(local.index_select(0, entries.where))


def _take(values: Tensor | None, index: Tensor) -> Tensor | None:
    return None if values is None else values.index_select(0, index)
