"""What is computed once per set: rows and their transposes, dense features, bonds, bits."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor

from gmpool.data.compressed_rows import (
    Rows,
    features,
    gcn_normalised,
    is_symmetric,
    local_ids,
    local_targets,
    transpose,
)
from gmpool.data.packed_fields import PackedFields

WORD = 32  # bits
# A product with bits passes over all pairs of nodes, a sparse one over the entries. On an H200 the
# sparse one takes 15·10⁹ entries per second at width 128, a product of tiles some 20 times as many
# pairs; smaller graphs than MIN_NODES leave most of a tile empty.
MIN_SHARE, MIN_NODES = 1 / 8, 32


class AdjacencyBits(NamedTuple):
    """The matrices of all graphs of a set; number G is a graph without nodes.

    Graph g with n nodes has ⌈n/32⌉ rows of n words: bit k of word (w, i) is A_ij with j = 32 w + k.
    So the words of neighbouring nodes i lie side by side.
    """

    words: Tensor  # int32
    word_ptr: Tensor  # int64 [G+1]: where the words of each graph begin
    node_ptr: Tensor  # int64 [G+2]: where the nodes of each graph begin in the set
    scale: Tensor  # float32 [N]: D^-1/2 of Â = D^-1/2 (A + I) D^-1/2


def is_dense(graphs: PackedFields) -> bool:
    """Whether products with bits are faster than sparse ones."""
    pairs = int(graphs.sizes.square().sum())
    return graphs.mean_nodes >= MIN_NODES and graphs.num_edges >= MIN_SHARE * pairs


def pack_bits(graphs: PackedFields) -> AdjacencyBits | None:
    """The bits of a set whose edges go both ways and are nothing but edges; None where one leads
    from a node to itself, which Â would keep as it is, or is there twice."""
    sizes, degree = graphs.sizes, graphs.row_ptr.diff()
    row = torch.repeat_interleave(degree, output_size=graphs.num_edges)  # [E]: a node of the set
    i, j = local_ids(graphs.node_ptr, torch.int64)[row], graphs.col.long()
    twice = (row.diff() == 0) & (j.diff() == 0)
    if bool((i == j).any()) or bool(twice.any()):
        return None
    counts = (sizes + WORD - 1) // WORD * sizes  # [G]
    word_ptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    g = torch.repeat_interleave(sizes, output_size=graphs.num_nodes)[row]  # [E]
    words = torch.zeros(int(word_ptr[-1]), dtype=torch.int64, device=graphs.device)
    words.index_add_(0, word_ptr[g] + j // WORD * sizes[g] + i, 1 << j % WORD)
    node_ptr = torch.cat([graphs.node_ptr, graphs.node_ptr[-1:]])
    return AdjacencyBits(words.to(torch.int32), word_ptr, node_ptr, (1.0 + degree).rsqrt())


MOST = 63
"""More kinds are not worth a table of them; with self-loops as one more they are a power of two."""


class BondKinds(NamedTuple):
    """The distinct rows of a set's edge_cat, and which of them each entry of its matrices has."""

    rows: Tensor  # float32 [C, Σ edge_cat_sizes]: multi-hot, as edge_attr has them
    graph: Tensor  # uint8 [E]: of the entries of the adjacency
    gcn: Tensor  # uint8 [E + N]: of those of the normalised one, whose self-loops have C


def find_bond_kinds(
    cat: Tensor, sizes: tuple[int, ...], node_ptr: Tensor, back: Rows, gcn: Rows
) -> BondKinds | None:
    """The kinds of a symmetric set without weights, whose edge_cat is ``cat`` [E, Ce].

    ``back`` is the transpose of its adjacency, ``gcn`` the normalised one. None where edges are not
    bonds: none at all, too many kinds, self-loops, or another kind on the way back.
    """
    has_loops = len(gcn.col) < len(cat) + len(gcn.row_ptr) - 1  # each node has exactly one in gcn
    if not len(cat) or has_loops:
        return None
    code = _numbered(cat, sizes)  # [E]
    count = int(code.max()) + 1
    if count > MOST or not torch.equal(code, code[_way_back(back)]):
        return None
    example = torch.zeros(count, dtype=torch.int64, device=cat.device)
    example.scatter_(0, code, torch.arange(len(code), device=cat.device))
    kinds = features(None, cat[example].long(), sizes, count)
    small = code.to(torch.uint8)
    is_bond = gcn.col != local_targets(gcn, node_ptr)
    of_gcn = torch.full_like(gcn.col, count, dtype=torch.uint8).masked_scatter_(is_bond, small)
    return BondKinds(kinds, small, of_gcn)


def _numbered(cat: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Equal rows get equal numbers, 0 … C-1. [E, Ce] -> int64 [E]"""
    code = torch.zeros(len(cat), dtype=torch.int64, device=cat.device)
    for column, size in zip(cat.unbind(1), sizes, strict=True):
        code = torch.unique(code * size + column, return_inverse=True)[1]
    return code


def _way_back(back: Rows) -> Tensor:
    """Where the reverse of each edge lies. [E]"""
    assert back.perm is not None
    first = back.edge_ptr[:-1].repeat_interleave(back.edge_ptr.diff(), output_size=len(back.perm))
    return first + back.perm


LARGE = 2**25
"""Nodes and edges of a set, whose constants take some thirty bytes for each."""
DENSE_LIMIT = 2**23  # numbers: 32 MiB of float32


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PackedConstants(PackedFields):
    """A set with the constants that its batches are made from, on the device that holds it."""

    @property
    def is_large(self) -> bool:
        """Whether constants of the whole set would take more memory than a few batches' do, on a
        host, where it may be a file: then those of a part at a time are made."""
        return self.device.type == "cpu" and self.num_entries > LARGE

    @cached_property
    def numbers(self) -> Tensor:
        """int64 [G]: what its graphs are called in the set that it is a part of."""
        return torch.arange(self.num_graphs, device=self.device)

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
