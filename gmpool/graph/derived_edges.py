"""The edges of graphs that a pooling has made."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from gmpool.graph.coarse_edges import CoarseEdges
from gmpool.graph.edges import squared_sum
from gmpool.graph.matrices import ScaledMatrix, SparseMatrix
from gmpool.ops.segment import Segments


class DerivedEdges:
    """Edges of which the sparse matrix is known already, sorted by target."""

    order: Tensor | None = None
    bonds = gcn_bonds = None

    def __init__(
        self, entries: SparseMatrix, *, dtype: torch.dtype, edge_attr: Tensor | None = None
    ) -> None:
        """edge_attr: a row for each entry. [E, F]"""
        self.entries, self.dtype, self.edge_attr = entries, dtype, edge_attr

    @property
    def num_nodes(self) -> int:
        return self.entries.num_rows

    @property
    def plain(self) -> SparseMatrix:
        return self.entries

    @cached_property
    def gcn(self) -> ScaledMatrix:
        return ScaledMatrix.of(self.entries, self.dtype)

    @cached_property
    def edge_index(self) -> Tensor:
        return self.entries.edge_index

    @property
    def edge_weight(self) -> Tensor | None:
        return self.entries.weight

    def squared_sum(self, segments: Segments) -> Tensor:
        return squared_sum(self.plain, segments, self.dtype)

    def coarsened(self, c: Tensor, segments: Segments) -> CoarseEdges:
        return CoarseEdges.of(self.plain, c, segments)
