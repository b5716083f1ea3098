"""The edges and the segments of a batch of a packed set: whatever is not asked for is not made."""

from functools import cached_property
from typing import TypeVar

import torch
from torch import Tensor

from gmpool.data.batch import CSR, GraphBatch
from gmpool.data.fixed_batch import FixedBatch
from gmpool.graph.coarse_edges import CoarseEdges
from gmpool.graph.edges import Bonds, squared_sum
from gmpool.graph.matrices import BitMatrix, SparseMatrix
from gmpool.ops.dense_product import DenseGraphs
from gmpool.ops.row_ids import inverse
from gmpool.ops.segment import Segments
from gmpool.ops.sparse import Pattern

T = TypeVar("T")


class NotDeclared(RuntimeError):
    """A layer asks a batch of fixed shape for what none of its readers has declared."""


class BatchEdges:
    """Edges whose sorted forms come from the set's constants instead of from sorting."""

    dtype = torch.float32
    order: Tensor | None = None  # a packed set keeps its edges sorted by target

    def __init__(self, batch: GraphBatch | FixedBatch) -> None:
        self.batch = batch
        self.num_nodes = batch.num_nodes

    @cached_property
    def plain(self) -> SparseMatrix | BitMatrix:
        return self._bits(normalised=False) or self.entries

    @cached_property
    def gcn(self) -> SparseMatrix | BitMatrix:
        return self._bits(normalised=True) or self._listed_gcn

    @cached_property
    def entries(self) -> SparseMatrix:
        return _listed(held(self.batch.graph, "entries"))

    @cached_property
    def _listed_gcn(self) -> SparseMatrix:
        return _listed(held(self.batch.gcn, "gcn"))

    def _bits(self, *, normalised: bool) -> BitMatrix | None:
        """Â or A, for a batch that lists no entries."""
        batch = self.batch
        if not isinstance(batch, FixedBatch) or batch.bits is None:
            return None
        *bits, scale = batch.bits
        graphs = DenseGraphs(batch.ids, batch.ptr, *bits)
        return BitMatrix(graphs, batch.num_nodes, scale if normalised else None)

    @cached_property
    def edge_index(self) -> Tensor:
        index = self.batch.edge_index
        return self.entries.edge_index if index is None else index

    @cached_property
    def edge_weight(self) -> Tensor | None:
        return self.batch.edge_weight

    @cached_property
    def edge_attr(self) -> Tensor | None:
        return self.batch.edge_attr

    @cached_property
    def bonds(self) -> Bonds | None:
        if (kinds := self.batch.bond_kinds) is None:
            return None
        return Bonds(self.entries, kinds, held(self.batch.graph_code, "bonds"))

    @cached_property
    def gcn_bonds(self) -> Bonds | None:
        if (kinds := self.batch.bond_kinds) is None:
            return None
        return Bonds(self._listed_gcn, kinds, held(self.batch.gcn_code, "gcn_bonds"))

    def squared_sum(self, segments: Segments) -> Tensor:
        return squared_sum(self.plain, segments, self.dtype)

    def coarsened(self, c: Tensor, segments: Segments) -> CoarseEdges:
        return CoarseEdges.of(self.plain, c, segments)


def held(part: T | None, what: str) -> T:
    """The part of a batch of that word in `reads`, if there is one."""
    if part is None:
        raise NotDeclared(
            f"this batch holds no {what}: whoever asks for it says so in its attribute `reads` "
            f"(gmpool.graph.reads)"
        )
    return part


def _listed(csr: CSR) -> SparseMatrix:
    from_t = None if csr.t_perm is None else inverse(csr.t_perm)
    pattern = Pattern(csr.rowptr, csr.col, csr.t_rowptr, csr.t_col, csr.t_perm, from_t)
    return SparseMatrix(pattern, csr.weight)


def batch_segments(batch: GraphBatch | FixedBatch) -> Segments:
    """Nodes of a batch lie graph after graph."""
    order = torch.arange(batch.num_nodes, device=batch.ptr.device)
    real = batch.real if isinstance(batch, FixedBatch) else None
    return Segments(batch.batch, order, batch.ptr, real)
