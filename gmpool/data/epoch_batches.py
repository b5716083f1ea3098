"""An epoch: every graph once, in batches that are assembled several at a time."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise

import torch
from torch import Tensor

from gmpool.data.batch import CSR, GraphBatch, Ids
from gmpool.data.packed import PackedGraphs

# Nodes and edges assembled at once. The time of a small batch is mostly the fixed cost of thirty
# operations; assembling several together shares it, up to what a processor's cache holds.
GROUP_SIZE = 2**18
PART_SIZE = 2**21
"""Of a large set: some ten thousand molecules."""


def epoch_batches(
    graphs: PackedGraphs, ids: Ids, batch_size: int, generator: torch.Generator | None = None
) -> Iterator[GraphBatch]:
    """All graphs ``ids`` once, in batches; a generator shuffles them, without one order stays."""
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1 (got {batch_size})")
    order = in_order(ids, generator)
    full, rest = divmod(order.numel(), batch_size)
    yield from batches_of(graphs, order, [batch_size] * full + [rest] * bool(rest))


def in_order(ids: Ids, generator: torch.Generator | None) -> Tensor:
    """As an epoch takes them. int64"""
    order = torch.as_tensor(ids, dtype=torch.int64)
    if generator is None:
        return order
    shuffle = torch.randperm(order.numel(), generator=generator, device=generator.device)
    return order.index_select(0, shuffle.to(order.device))


def batches_of(graphs: PackedGraphs, order: Tensor, counts: Sequence[int]) -> Iterator[GraphBatch]:
    """Batches of so many graphs each, in this order. Of a large set a part is brought into memory
    at a time, with constants of its own."""
    if not graphs.is_large:
        yield from _batches_of(graphs, order, counts)
        return
    for part, group in _together(graphs, order, counts, PART_SIZE):
        there = graphs.part(part)
        yield from _batches_of(there, torch.arange(len(there)), group)


def _batches_of(graphs: PackedGraphs, order: Tensor, counts: Sequence[int]) -> Iterator[GraphBatch]:
    for part, group in _together(graphs, order, counts, GROUP_SIZE):
        if len(group) > 1:
            yield from _Group(graphs, part, group).parts()
        else:
            yield GraphBatch(graphs, part)


def _together(
    graphs: PackedGraphs, order: Tensor, counts: Sequence[int], size: int
) -> Iterator[tuple[Tensor, Sequence[int]]]:
    """The graphs of some batches that follow each other, and how many each of these has: about so
    many nodes and edges at a time, but one batch at least."""
    entries = max(counts, default=0) * graphs.num_entries // max(graphs.num_graphs, 1)
    together = max(size // max(entries, 1), 1)
    groups = [counts[at : at + together] for at in range(0, len(counts), together)]
    parts = order.to(graphs.device).split([sum(group) for group in groups])
    yield from zip(parts, groups, strict=True)


class _Group(GraphBatch):
    """Several batches in one: nodes, graphs and edges are numbered anew in each of them."""

    def __init__(self, graphs: PackedGraphs, ids: Tensor, counts: Sequence[int]) -> None:
        super().__init__(graphs, ids)
        self.ends = [0, *accumulate(counts)]
        self.at = torch.tensor(self.ends, device=self.ids.device)
        # [B]: the first graph of the same batch
        self._first = self.at[:-1].repeat_interleave(self.at.diff(), output_size=self.num_graphs)
        self.node_ends: list[int] = self.ptr.index_select(0, self.at).tolist()

    @property
    def _numbers(self) -> Tensor:
        return torch.arange(self.num_graphs, device=self.ids.device) - self._first

    def _begin(self, ptr: Tensor) -> Tensor:
        return ptr[:-1] - ptr.index_select(0, self._first)

    def parts(self) -> Iterator[GraphBatch]:
        for number in range(len(self.ends) - 1):
            yield _Part(self, number)

    def cut(self, csr: CSR) -> list[CSR]:
        """The matrix of each batch."""
        ends = csr.rowptr.index_select(0, self.ptr.index_select(0, self.at)).tolist()
        found = []
        for k, (a, b) in enumerate(pairwise(ends)):
            rows = slice(self.node_ends[k], self.node_ends[k + 1] + 1)
            weight, t_weight, perm = (
                None if t is None else t[a:b] for t in (csr.weight, csr.t_weight, csr.t_perm)
            )
            forward = back = (csr.rowptr[rows] - a, csr.col[a:b], weight)
            if csr.t_col is not csr.col:
                back = (csr.t_rowptr[rows] - a, csr.t_col[a:b], t_weight)
            found.append(CSR(*forward, *back, perm))
        return found

    @cached_property
    def graph_parts(self) -> list[CSR]:
        return self.cut(self.graph)

    @cached_property
    def gcn_parts(self) -> list[CSR]:
        return self.cut(self.gcn)


class _Part(GraphBatch):
    """One batch of a group: views of what the group computes."""

    def __init__(self, group: _Group, number: int) -> None:
        self._graphs_at = slice(group.ends[number], group.ends[number + 1])
        self._nodes_at = slice(group.node_ends[number], group.node_ends[number + 1])
        self._group, self._number = group, number
        self.graphs, self.ids = group.graphs, group.ids[self._graphs_at]

    @cached_property
    def num_nodes(self) -> int:
        return self._nodes_at.stop - self._nodes_at.start

    @cached_property
    def ptr(self) -> Tensor:
        at = self._graphs_at
        return self._group.ptr[at.start : at.stop + 1] - self._nodes_at.start

    @cached_property
    def batch(self) -> Tensor:
        return self._group.batch[self._nodes_at]

    @cached_property
    def node_ids(self) -> Tensor:
        return self._group.node_ids[self._nodes_at]

    @cached_property
    def x(self) -> Tensor:
        return self._group.x[self._nodes_at]

    @cached_property
    def node_cat(self) -> Tensor | None:
        cat = self._group.node_cat
        return None if cat is None else cat[self._nodes_at]

    @cached_property
    def graph(self) -> CSR:
        return self._group.graph_parts[self._number]

    @cached_property
    def gcn(self) -> CSR:
        return self._group.gcn_parts[self._number]
