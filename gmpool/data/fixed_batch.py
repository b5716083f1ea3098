"""Batches of fixed shape for many replicas at once: what a captured program can read again.

R batches of B graphs each are assembled on the device that holds the set, by index arithmetic whose
shapes depend on the bounds alone. Nodes and entries that a batch has fewer of than the bounds are
made up: they belong to one more graph, number B, whose nodes have no part in any other, and whose
entries weigh nothing. A batch with fewer than B graphs ends in empty ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from gmpool.data.batch import CSR
from gmpool.data.compressed_rows import Rows, features
from gmpool.data.constants import AdjacencyBits, BondKinds
from gmpool.data.packed import PackedGraphs


class Bounds(NamedTuple):
    """The most that a batch may have; one node more than it has."""

    nodes: int
    edges: int
    loops: int
    """Entries of the normalised adjacency: edges and self-loops."""


@dataclass(frozen=True)
class FixedBatch:
    """One replica's batch, or all R of them with a leading axis: what a model reads of a batch.

    It answers as GraphBatch does. `real` [B+1] is 1 for graphs that are there.
    """

    x: Tensor  # [N, F]
    ptr: Tensor  # [B+2]
    batch: Tensor  # [N]
    ids: Tensor  # [B+1]: the numbers of the graphs in their set
    y: Tensor | None  # [B] or [B, T]; labels of graphs that are not there count as missing
    real: Tensor  # [B+1]
    graph: CSR | None
    gcn: CSR | None
    edge_attr: Tensor | None
    edge_index: Tensor | None
    bond_kinds: Tensor | None  # [C, num_edge_features]
    graph_code: Tensor | None
    gcn_code: Tensor | None
    graph_float: Tensor | None = None  # [B+1, F]
    graph_weight: Tensor | None = None  # [B]; 0 for graphs that are not there
    more: Mapping[str, Tensor] = field(default_factory=dict)  # what a method has made beforehand
    bits: AdjacencyBits | None = None  # of the whole set, in place of graph and gcn
    edge_weight: ClassVar[None] = None

    @property
    def num_nodes(self) -> int:
        return self.batch.shape[-1]

    @property
    def numbers(self) -> Tensor:
        """Batches of fixed shape are made of whole sets."""
        return self.ids

    def tensors(self) -> dict[str, Tensor]:
        """All its tensors by name; those of a matrix with the matrix's name before a dot."""
        found: dict[str, Tensor] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, CSR):
                found |= {f"{each.name}.{n}": t for n, t in _parts(value).items()}
            elif each.name == "more":
                found |= {f"more.{n}": t for n, t in value.items()}
            elif isinstance(value, Tensor):
                found[each.name] = value
        return found

    def with_(self, tensors: Mapping[str, Tensor]) -> FixedBatch:
        """The same batch made of other tensors, such as one replica's of them."""
        return replace(FixedBatch.of(tensors), bits=self.bits)

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor]) -> FixedBatch:
        """A batch of tensors by name, without bits."""
        made: dict[str, Any] = {each.name: tensors.get(each.name) for each in fields(cls)}
        for name in ("graph", "gcn"):
            if f"{name}.col" in tensors:
                made[name] = _whole(under(name, tensors))
        return cls(**made | {"more": under("more", tensors)})


def under(name: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Those whose names begin with this and a dot, by the rest of their names."""
    return {n.removeprefix(f"{name}."): t for n, t in tensors.items() if n.startswith(f"{name}.")}


def _parts(matrix: CSR) -> dict[str, Tensor]:
    """Its tensors by name; of a symmetric one those of the transpose are not listed again."""
    names = CSR._fields if matrix.t_col is not matrix.col else (*CSR._fields[:3], "t_perm")
    return {n: t for n in names if (t := getattr(matrix, n)) is not None}


def _whole(parts: Mapping[str, Tensor]) -> CSR:
    if "t_col" not in parts:
        parts = {**parts, **{f"t_{n}": t for n, t in parts.items() if n != "t_perm"}}
    return CSR(**{name: parts.get(name) for name in CSR._fields})  # type: ignore[arg-type]


class FixedBatches:
    """Makes them."""

    def __init__(
        self,
        graphs: PackedGraphs,
        *,
        plain: bool,
        attr: bool = True,
        codes: bool = False,
        dense: bool = False,
        normalised: bool = True,
        numbers: bool = False,
        back: bool = False,
    ) -> None:
        """plain: whether the adjacency as it is will be wanted; normalised: whether Â will be.
        attr: whether features of edges will be, with the adjacency; codes: whether kinds of bonds,
        for sets that know them. dense: whether both adjacencies shall be bits, and nothing else of
        the edges be there, for sets that have them as bits. numbers: whether nodes are shown by the
        number of their one category, [N], instead of by features. back: whether the way back of
        each edge will be wanted."""
        self.bits = graphs.adjacency_bits if dense else None
        self.graphs, self.plain = graphs, plain and self.bits is None
        self._known: dict[int, tuple[Tensor, Tensor]] = {}  # rows are the set's, and stay
        self.device = graphs.device
        self.empty = graphs.num_graphs
        self.sizes = _and_one(graphs.sizes)  # [G+1]: the last graph is empty
        self.first = _and_one(graphs.node_ptr[:-1])
        self.normalised = normalised
        shown = _category(graphs) if numbers else graphs.node_features()
        self.x = _and_one(shown)  # the last node has no features
        self.y: Tensor | None = None
        if graphs.y is not None:
            self.y = _and_one(graphs.y, float("nan") if graphs.y.is_floating_point() else -100)
        floats, weight = graphs.graph_float, graphs.graph_weight
        self.floats = None if floats is None else _and_one(floats)
        self.weight = None if weight is None else _and_one(weight)
        self.attr: Tensor | None = None
        if attr and (graphs.edge_cat is not None or graphs.edge_float is not None):
            cat = None if graphs.edge_cat is None else graphs.edge_cat.long()
            attr_of = features(graphs.edge_float, cat, graphs.edge_cat_sizes, graphs.num_edges)
            self.attr = _and_one(attr_of.to(self.device))
        self.back = back or self.attr is not None
        self.kinds: BondKinds | None = None
        if codes and graphs.bond_kinds is not None:
            rows, *codes_of = graphs.bond_kinds
            # One entry more, for those that are made up; any kind will do.
            self.kinds = BondKinds(rows, *map(_and_one, codes_of))

    @cached_property
    def _host_sizes(self) -> tuple[Tensor, Tensor]:
        return self.sizes.cpu(), self._entries(self.graphs.rows)[0].cpu()

    def bounds(self, ids: Tensor) -> Bounds:
        """What the batches ids [..., B] need."""
        nodes, edges = (counts[ids].sum(-1) for counts in self._host_sizes)
        return Bounds(int(nodes.max()) + 1, int(edges.max()), int((nodes + edges).max()))

    def fit(self, ids: Tensor, bounds: Bounds) -> Tensor:
        """Whether the batches ids [R, B] are within the bounds; edges as they are. [R]"""
        edges = self._entries(self.graphs.rows)[0][ids].sum(1)
        return (self.sizes[ids].sum(1) < bounds.nodes) & (edges <= bounds.edges)

    def make(self, ids: Tensor, bounds: Bounds) -> FixedBatch:
        """ids [R, B] of graphs, `empty` where there is none -> R batches"""
        R, _ = ids.shape
        sizes = self.sizes[ids]  # [R, B]
        ptr = _offsets(sizes)  # [R, B+1]
        node = _numbers(bounds.nodes, ids)  # [R, N]
        batch = torch.searchsorted(ptr[:, 1:].contiguous(), node, right=True)  # B: made up
        full = torch.cat([ptr, ptr.new_full((R, 1), bounds.nodes)], dim=1)  # [R, B+2]
        where = self.where(ids, full, batch)
        real = torch.cat([ids != self.empty, ids.new_zeros(R, 1)], dim=1).float()
        graph = gcn = attr = index = kinds = graph_code = gcn_code = None
        if self.plain:
            graph, entry = self._both_ways(ids, batch, where, full, bounds.edges)
            if self.attr is not None:
                attr = self.attr[entry]
                target = torch.searchsorted(
                    graph.rowptr[:, 1:].contiguous(), _numbers(bounds.edges, ids), right=True
                )
                index = torch.stack([graph.col, target], dim=1)  # [R, 2, E]
            if self.kinds is not None:
                kinds, graph_code = self.kinds.rows.expand(R, -1, -1), self.kinds.graph[entry]
        if self.bits is None and self.normalised:
            gcn, entry = self._matrix(self.graphs.gcn_rows, ids, batch, where, full, bounds.loops)
            if self.kinds is not None:
                kinds, gcn_code = self.kinds.rows.expand(R, -1, -1), self.kinds.gcn[entry]
        y = None if self.y is None else self.y[ids]
        numbers = torch.cat([ids, ids.new_full((R, 1), self.empty)], dim=1)  # [R, B+1]
        floats = None if self.floats is None else self.floats[numbers]
        weight = None if self.weight is None else self.weight[ids]
        edges = (graph, gcn, attr, index, kinds, graph_code, gcn_code, floats, weight)
        made = (self.x[where], full, batch, numbers, y, real, *edges)
        return FixedBatch(*made, bits=self.bits)

    def where(self, ids: Tensor, ptr: Tensor, batch: Tensor) -> Tensor:
        """The node of the set that each node of a batch is; the last + 1: none. [R, N]"""
        begin = self.first[ids] - ptr[:, :-2]  # [R, B]
        begin = torch.cat([begin, begin.new_zeros(ids.shape[0], 1)], dim=1)
        node = _numbers(batch.shape[1], ids) + begin.gather(1, batch)
        return torch.where(batch < ids.shape[1], node, self.graphs.num_nodes)

    def _entries(self, rows: Rows) -> tuple[Tensor, Tensor]:
        """How many each graph has, the empty one too, and its first. [G+1]"""
        if id(rows) not in self._known:
            found = _and_one(rows.edge_ptr.diff()), _and_one(rows.edge_ptr[:-1])
            self._known[id(rows)] = found
        return self._known[id(rows)]

    def _both_ways(
        self, ids: Tensor, batch: Tensor, where: Tensor, ptr: Tensor, bound: int
    ) -> tuple[CSR, Tensor]:
        """The adjacency as it is; its transpose apart where the set is not symmetric."""
        graphs, how = self.graphs, (ids, batch, where, ptr, bound)
        perm = graphs.reversed_rows.perm if self.back else None
        there, entry = self._matrix(graphs.rows, *how, perm=perm)
        if graphs.symmetric:
            return there, entry
        back, _ = self._matrix(graphs.reversed_rows, *how)
        return CSR(*there[:3], *back[:3], there.t_perm), entry

    def _matrix(
        self, rows: Rows, ids: Tensor, batch: Tensor, where: Tensor, ptr: Tensor, bound: int,
        perm: Tensor | None = None,
    ) -> tuple[CSR, Tensor]:  # fmt: skip
        """(the matrix, the entry of the set that each of its entries is, the last + 1: none)

        perm: which entry each one of the transpose is, inside its graph, where that is wanted."""
        (R, B), N = ids.shape, batch.shape[1]
        counts, first = (each[ids] for each in self._entries(rows))  # [R, B]
        eptr = _offsets(counts)  # [R, B+1]
        total = eptr[:, -1:]
        shift = torch.cat([eptr[:, :-1] - first, eptr.new_zeros(R, 1)], dim=1)  # [R, B+1]
        # Entries that are made up are shared out among the nodes that are made up, so that no row
        # is longer than it need be.
        node, real = _numbers(N, ids), ptr[:, -2:-1]
        spread = total + (node - real) * (bound - total) // (N - real)
        start = rows.row_ptr[where.clamp(max=rows.row_ptr.shape[0] - 1)]
        rowptr = torch.where(batch < B, start + shift.gather(1, batch), spread)
        rowptr = torch.cat([rowptr, rowptr.new_full((R, 1), bound)], dim=1)
        place = _numbers(bound, ids)  # [R, E]
        owner = torch.searchsorted(eptr[:, 1:].contiguous(), place, right=True)
        there = owner < B
        entry = torch.where(there, place - shift.gather(1, owner), 0)
        col = _some(rows.col)[entry].long() + ptr.gather(1, owner)
        col = torch.where(there, col, N - 1)
        weight = t_perm = None
        if rows.weight is not None:
            weight = torch.where(there, _some(rows.weight)[entry], 0.0)
        if perm is not None:
            begins = torch.cat([eptr[:, :-1], eptr.new_zeros(R, 1)], dim=1).gather(1, owner)
            t_perm = torch.where(there, _some(perm)[entry].long() + begins, place)
        none = rows.col.shape[0]
        csr = CSR(rowptr, col, weight, rowptr, col, weight, t_perm)
        return csr, torch.where(there, entry, none)


def _category(graphs: PackedGraphs) -> Tensor:
    assert graphs.node_cat is not None
    return graphs.node_cat[:, 0]


def _and_one(values: Tensor, value: float = 0) -> Tensor:
    """One row more, of ``value``."""
    return torch.cat([values, values.new_full((1, *values.shape[1:]), value)])


def _some(values: Tensor) -> Tensor:
    """Not empty, so that it can be read where nobody looks."""
    return values if values.numel() else _and_one(values)


def _offsets(counts: Tensor) -> Tensor:
    """[R, B] -> [R, B+1]"""
    return torch.cat([counts.new_zeros(counts.shape[0], 1), counts.cumsum(1)], dim=1)


def _numbers(count: int, like: Tensor) -> Tensor:
    """0 … count-1 in each of the R rows of `like`. [R, count]"""
    return torch.arange(count, device=like.device).expand(like.shape[0], count).contiguous()
