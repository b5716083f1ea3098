"""Which graph each node of a ragged batch belongs to."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from gmpool.errors import UserError
from gmpool.ops.segment.sort_by_graph import sort_by_graph
from gmpool.ops.sparse import Pattern


class _Equal(NamedTuple):
    """Graphs of as many rows each, one after the other."""

    num_graphs: int
    size: int
    device: Any


class Segments:
    """Which graph each node belongs to.

    batch [N]: graph of each node, in any order.
    order [N]: the nodes sorted by graph (0 … N-1 when batch is sorted).
    ptr [B+1]: graph b's nodes are order[ptr[b]:ptr[b+1]]; a graph may be empty.
    real [B]: 1 for a graph that counts, 0 for one that only fills up a batch; None: all count.

    Of `uniform` graphs the first three are made when they are first read.
    """

    _equal: _Equal | None = None

    def __init__(
        self, batch: Tensor, order: Tensor, ptr: Tensor, real: Tensor | None = None
    ) -> None:
        self._index = {"batch": batch, "order": order, "ptr": ptr}
        self.real = real

    @classmethod
    def from_batch(
        cls,
        batch: Tensor | Segments | None,
        num_nodes: int,
        device: Any = None,
        batch_size: int | None = None,
    ) -> Segments:
        """From PyG's batch vector; None is one graph, on `device`. Without batch_size the last
        graph counts."""
        if isinstance(batch, Segments):
            return batch
        if batch is None:
            batch = torch.zeros(num_nodes, dtype=torch.long, device=device)
            batch_size = 1 if batch_size is None else batch_size
        if batch.shape != (num_nodes,):
            raise UserError(
                f"batch must have one entry per node, shape ({num_nodes},), "
                f"got {tuple(batch.shape)}"
            )
        if batch_size is None:
            batch_size = int(batch.max()) + 1 if num_nodes else 0
        return cls(batch, *sort_by_graph(batch, batch_size))

    @classmethod
    def uniform(
        cls, num_graphs: int, size: int, device: Any = None, real: Tensor | None = None
    ) -> Segments:
        """B graphs of exactly `size` rows each."""
        segments = cls.__new__(cls)
        segments._equal = _Equal(num_graphs, size, device)
        segments._index, segments.real = {}, real
        return segments

    def with_rows(self, size: int) -> Segments:
        """The same graphs when each has `size` rows."""
        return Segments.uniform(self.num_graphs, size, self.device, self.real)

    # Kept by hand: a compiled graph cannot pass the lock of Python 3.11's cached_property.
    @property
    def order(self) -> Tensor:
        if self._equal is not None and "order" not in self._index:
            rows = self._equal.num_graphs * self._equal.size
            self._index["order"] = torch.arange(rows, device=self._equal.device)
        return self._index["order"]

    @property
    def batch(self) -> Tensor:
        if self._equal is not None and "batch" not in self._index:
            self._index["batch"] = self.order // self._equal.size
        return self._index["batch"]

    @property
    def ptr(self) -> Tensor:
        if self._equal is not None and "ptr" not in self._index:
            graphs = torch.arange(self._equal.num_graphs + 1, device=self._equal.device)
            self._index["ptr"] = self._equal.size * graphs
        return self._index["ptr"]

    @property
    def size(self) -> int | None:
        """The rows of every graph, where all are known to have as many."""
        return None if self._equal is None else self._equal.size

    @property
    def device(self) -> Any:
        return self.ptr.device if self._equal is None else self._equal.device

    @property
    def num_graphs(self) -> int:
        return self.ptr.shape[0] - 1 if self._equal is None else self._equal.num_graphs

    @property
    def counts(self) -> Tensor:
        """Nodes per graph. [B]"""
        if self._equal is not None:
            return torch.full((self.num_graphs,), self._equal.size, device=self.device)
        return self.ptr[1:] - self.ptr[:-1]

    def mean_over_graphs(self, values: Tensor) -> Tensor:
        """Mean of one number per graph, over the graphs that count. [B] -> []"""
        if self.real is None:
            return values.mean()
        real = self.real.to(values.dtype)
        return (values * real).sum() / real.sum().clamp(min=1)

    @property
    def pattern(self) -> Pattern:
        """The B × N matrix of ones that sums nodes into graphs."""
        one_each = torch.arange(self.batch.shape[0] + 1, device=self.batch.device)
        return Pattern(self.ptr, self.order, one_each, self.batch)
