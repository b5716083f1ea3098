"""The edges of a GraphBatch, for convolutions: whatever is not asked for is not computed."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from gmpool.data.batch import CSR, GraphBatch
from gmpool.data.fixed_batch import FixedBatch
from gmpool.graph.dense_adjacency import DenseAdjacency
from gmpool.graph.edges import Adjacency, Edges, inverse
from gmpool.ops.dense_product import DenseGraphs
from gmpool.ops.segment import Segments
from gmpool.ops.sparse import Pattern


class BatchEdges(Edges):
    """Edges whose sorted forms come from the set's constants instead of from sorting."""

    def __init__(self, batch: GraphBatch | FixedBatch) -> None:
        self.graph_batch = batch
        self.num_nodes = batch.num_nodes
        self.dtype = torch.float32
        self._by_target = None  # a packed set keeps its edges sorted by target

    @cached_property
    def edge_index(self) -> Tensor:  # type: ignore[override]
        index = self.graph_batch.edge_index
        assert index is not None
        return index

    @cached_property
    def edge_weight(self) -> Tensor | None:  # type: ignore[override]
        return self.graph_batch.edge_weight

    @cached_property
    def edge_attr(self) -> Tensor | None:  # type: ignore[override]
        return self.graph_batch.edge_attr

    @cached_property
    def plain(self) -> Adjacency:
        if (dense := _as_bits(self.graph_batch, normalised=False)) is not None:
            return dense
        assert self.graph_batch.graph is not None
        return adjacency_of(self.graph_batch.graph)

    @cached_property
    def gcn(self) -> Adjacency:
        if (dense := _as_bits(self.graph_batch, normalised=True)) is not None:
            return dense
        assert self.graph_batch.gcn is not None
        return adjacency_of(self.graph_batch.gcn)

    @cached_property
    def bond_kinds(self) -> Tensor | None:  # type: ignore[override]
        return self.graph_batch.bond_kinds

    @cached_property
    def plain_code(self) -> Tensor | None:  # type: ignore[override]
        return self.graph_batch.graph_code

    @cached_property
    def gcn_code(self) -> Tensor | None:  # type: ignore[override]
        return self.graph_batch.gcn_code

    @cached_property
    def from_source(self) -> Pattern:
        return super().from_source

    @cached_property
    def to_target(self) -> Pattern:
        return super().to_target


def adjacency_of(csr: CSR) -> Adjacency:
    from_t = None if csr.t_perm is None else inverse(csr.t_perm)
    pattern = Pattern(csr.rowptr, csr.col, csr.t_rowptr, csr.t_col, csr.t_perm, from_t)
    return Adjacency(pattern, csr.weight)


def _as_bits(batch: GraphBatch | FixedBatch, *, normalised: bool) -> DenseAdjacency | None:
    """Â or A, for a batch that has no list of edges."""
    if not isinstance(batch, FixedBatch) or batch.bits is None:
        return None
    *bits, scale = batch.bits
    return DenseAdjacency(DenseGraphs(batch.ids, batch.ptr, *bits), scale if normalised else None)


def batch_segments(batch: GraphBatch | FixedBatch) -> Segments:
    """Nodes of a batch lie graph after graph."""
    order = torch.arange(batch.num_nodes, device=batch.ptr.device)
    real = batch.real if isinstance(batch, FixedBatch) else None
    return Segments(batch.batch, order, batch.ptr, real)
