"""What is computed once per set: rows and their transposes, dense features, bonds, bits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import torch
from torch import Tensor

from gmpool.data.adjacency_bits import AdjacencyBits, pack_bits
from gmpool.data.bond_kinds import BondKinds, find_bond_kinds
from gmpool.data.compressed_rows import Rows, features, gcn_normalised, is_symmetric, transpose
from gmpool.data.packed_fields import PackedFields

DENSE_LIMIT = 2**23  # numbers: 32 MiB of float32


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PackedConstants(PackedFields):
    """A set with the constants that its batches are made from, on the device that holds it."""

    @cached_property
    def rows(self) -> Rows:
        """The adjacency as it is: row i holds the in-edges of node i."""
        edge_ptr = self.row_ptr.index_select(0, self.node_ptr)
        return Rows(self.row_ptr, edge_ptr, self.col, self.edge_weight, None)

    @cached_property
    def reversed_rows(self) -> Rows:
        """Its transpose: row i holds the out-edges of node i."""
        return transpose(self.rows, self.node_ptr)

    @cached_property
    def symmetric(self) -> bool:
        """Whether every edge has its reverse, with the same weight."""
        return is_symmetric(self.rows, self.reversed_rows)

    @cached_property
    def gcn_rows(self) -> Rows:
        """The normalised adjacency with self-loops (``compressed_rows.gcn_normalised``)."""
        return gcn_normalised(self.rows, self.node_ptr)

    @cached_property
    def gcn_reversed_rows(self) -> Rows:
        """Its transpose."""
        return transpose(self.gcn_rows, self.node_ptr)

    def node_features(self) -> Tensor:
        """float32 [N, num_features]: ``x`` of all nodes of the set."""
        dense = self.dense_x
        return self._features() if dense is None else dense

    @cached_property
    def dense_x(self) -> Tensor | None:
        """``x`` of the whole set where it is small: then a batch only copies rows."""
        if self.num_nodes * self.num_features > DENSE_LIMIT:
            return None
        return self._features()

    def _features(self) -> Tensor:
        x = features(self.node_float, self.node_cat, self.cat_sizes, self.num_nodes)
        return x.to(self.device)

    @cached_property
    def bond_kinds(self) -> BondKinds | None:
        """The distinct bonds; None where edges are more than kinds: numbers or weights, edges that
        go one way, or what ``find_bond_kinds`` refuses."""
        more = (self.edge_float, self.edge_weight)
        if self.edge_cat is None or any(t is not None for t in more) or not self.symmetric:
            return None
        return find_bond_kinds(
            self.edge_cat, self.edge_cat_sizes, self.node_ptr, self.reversed_rows, self.gcn_rows
        )

    @cached_property
    def adjacency_bits(self) -> AdjacencyBits | None:
        """The adjacency as bits; None where it is more than zeros and ones, not symmetric, or what
        ``pack_bits`` refuses."""
        more = (self.edge_weight, self.edge_cat, self.edge_float)
        if any(part is not None for part in more) or not self.symmetric:
            return None
        return pack_bits(self)

    def to(self, device: torch.device | str) -> Self:
        """The same set on another device; batches are then made there."""
        tensors: dict[str, Any] = {k: v.to(device) for k, v in self.tensors().items()}
        moved = replace(self, **tensors)
        for known in ("symmetric", "digest"):  # content, not place: no need to compute them again
            if known in self.__dict__:
                moved.__dict__[known] = self.__dict__[known]
        return moved
