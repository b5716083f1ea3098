"""Which graph each node of a batch belongs to, and sums, means, maxima and softmaxes per graph."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from gmpool.errors import UserError, WrongType
from gmpool.ops import onnx_forms
from gmpool.ops.replicas import flat, lead, shifted, union_index
from gmpool.ops.row_ids import stable_order
from gmpool.ops.sparse import Pattern, spmm
from gmpool.ops.without_dispatcher import only_values

INDEX_TYPES = (torch.int64, torch.int32)
"""Of the numbers of nodes and graphs."""


class Words(NamedTuple):
    """What a caller's users call the numbers of graphs, how many there are, and one of them."""

    ids: str
    number: str
    one: str


OF_GRAPHS = Words("batch", "batch_size", "graph")


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
        words: Words = OF_GRAPHS,
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
                f"{words.ids} must have one entry per row, shape ({num_nodes},), "
                f"got {tuple(batch.shape)}"
            )
        if batch.dtype not in INDEX_TYPES:
            raise WrongType(
                f"{words.ids} must hold the numbers of {words.one}s as torch.int64, "
                f"got {batch.dtype}"
            )
        there = batch.device if device is None else torch.device(device)
        if there.type != batch.device.type or there.index not in (None, batch.device.index):
            raise UserError(
                f"{words.ids} is on {batch.device}, but the rows on {there}: move one of them"
            )
        if batch_size is not None and not isinstance(batch_size, int | torch.SymInt):
            raise WrongType(f"{words.number} must be a number of {words.one}s, got {batch_size!r}")
        if only_values(batch):
            return cls(batch, *_sorted_by_graph(batch, batch_size, words))
        if batch_size is None:
            # Not int(…), which a tracer would take for a number that never changes.
            last: Any = batch.max().item() if num_nodes else -1
            batch_size = last + 1
        to_onnx = onnx_forms.are_wanted()
        sort = onnx_forms.sort_by_graph if to_onnx else _sort_by_graph
        return cls(batch, *sort(batch, batch_size))

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
    def rows_each(self) -> int | None:
        """Of every graph, where all are known to have as many. (A `size` of ours would be called
        by those who take us for a tensor.)"""
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
            # How many graphs a compiled program will have it need not know.
            none = not torch.compiler.is_compiling() and values.shape[0] == 0
            return values.sum() if none else values.mean()
        real = self.real.to(values.dtype)
        return (values * real).sum() / real.sum().clamp(min=1)

    @property
    def pattern(self) -> Pattern:
        """The B × N matrix of ones that sums nodes into graphs."""
        one_each = torch.arange(self.batch.shape[0] + 1, device=self.batch.device)
        return Pattern(self.ptr, self.order, one_each, self.batch)


def _sorted_by_graph(
    batch: Tensor, num_graphs: int | None, words: Words = OF_GRAPHS
) -> tuple[Tensor, Tensor]:
    """(order, ptr); without num_graphs the last graph that has a node is the last."""
    if batch.numel() == 0:
        order = torch.arange(0, device=batch.device)
        return order, order.new_zeros((num_graphs or 0) + 1)
    in_order = (batch[1:] >= batch[:-1]).all()
    # All that is asked of a device, in one question.
    smallest, largest, sorted_already = torch.stack([*batch.aminmax(), in_order.to(batch)]).tolist()
    num_graphs = largest + 1 if num_graphs is None else num_graphs
    if smallest < 0 or largest >= num_graphs:
        raise UserError(
            f"{words.ids} holds {words.one} {largest} (smallest {smallest}), but {words.number} "
            f"is {num_graphs}: entries must lie in 0 … {num_graphs - 1}"
        )
    graphs = torch.arange(num_graphs + 1, device=batch.device, dtype=batch.dtype)
    if sorted_already:
        order = torch.arange(batch.shape[0], device=batch.device)
        return order, torch.searchsorted(batch.contiguous(), graphs)
    order = stable_order(batch, num_graphs)
    return order, torch.searchsorted(batch.index_select(0, order), graphs)


@torch.library.custom_op("gmpool::sort_by_graph", mutates_args=())
def _sort_by_graph(batch: Tensor, num_graphs: int) -> tuple[Tensor, Tensor]:
    """The check for an already sorted batch lives inside the operator, so that it costs one pass
    and does not break a compiled graph."""
    return _sorted_by_graph(batch, num_graphs)


@_sort_by_graph.register_fake
def _(batch: Tensor, num_graphs: int) -> tuple[Tensor, Tensor]:
    return (
        torch.empty_like(batch, dtype=torch.long),
        batch.new_empty(num_graphs + 1, dtype=torch.long),
    )


@_sort_by_graph.register_vmap
def _(info: Any, in_dims: Any, batch: Tensor, num_graphs: int) -> Any:
    R = info.batch_size
    N = batch.shape[1 - in_dims[0]]
    order, ptr = _sort_by_graph(shifted(batch, in_dims[0], R, num_graphs), R * num_graphs)
    first = torch.arange(R, device=batch.device)[:, None]
    starts = ptr[:-1].view(R, num_graphs) - first * N
    ends = starts.new_full((R, 1), N)
    return (order.view(R, N) - first * N, torch.cat([starts, ends], dim=1)), (0, 0)


def segment_sum(x: Tensor, segments: Segments) -> Tensor:
    """Σ over the nodes of each graph. [N, ...] -> [B, ...]; an empty graph gives 0."""
    if segments.rows_each is not None:
        return x.unflatten(0, (segments.num_graphs, segments.rows_each)).sum(1)
    rows = x.reshape(x.shape[0], -1) if x.dim() != 2 else x
    return spmm(segments.pattern, rows).reshape(segments.num_graphs, *x.shape[1:])


def segment_gather(g: Tensor, segments: Segments) -> Tensor:
    """Each node's graph row: the transpose of segment_sum. [B, ...] -> [N, ...]"""
    rows = g.reshape(g.shape[0], -1) if g.dim() != 2 else g
    return spmm(segments.pattern.transposed, rows).reshape(segments.batch.shape[0], *g.shape[1:])


def segment_mean(x: Tensor, segments: Segments) -> Tensor:
    """Mean over the nodes of each graph; an empty graph gives 0. [N, ...] -> [B, ...]"""
    counts = segments.counts.clamp(min=1).to(x.dtype)
    return segment_sum(x, segments) / counts.view(-1, *[1] * (x.dim() - 1))


def segment_max(x: Tensor, segments: Segments) -> Tensor:
    """Maximum over the nodes of each graph; an empty graph gives 0. [N, F] -> [B, F]

    Where several nodes share the maximum, each gets an equal part of the gradient.
    """
    top = onnx_forms.segment_max if onnx_forms.are_wanted() else _segment_max
    return top(x, segments.batch, segments.order, segments.ptr)


def segment_softmax(scores: Tensor, segments: Segments) -> Tensor:
    """Softmax over the nodes of each graph, per column. [N, F] -> [N, F]"""
    top = segment_gather(segment_max(scores.detach(), segments), segments)
    e = (scores - top).exp()
    return e / segment_gather(segment_sum(e, segments), segments)


@torch.library.custom_op("gmpool::segment_max", mutates_args=())
def _segment_max(x: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    rows = x.index_select(0, order)
    top = torch.segment_reduce(rows, "max", offsets=ptr, initial=float("-inf"))
    return top.masked_fill((ptr[1:] == ptr[:-1])[:, None], 0.0)


@_segment_max.register_fake
def _(x: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    return x.new_empty(ptr.shape[0] - 1, x.shape[1])


def _save_max(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs, output)


def _max_backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
    x, batch, order, ptr, top = ctx.saved_tensors
    segments = Segments(batch, order, ptr)
    hit = (x == segment_gather(top, segments)).to(grad.dtype)
    share = hit / segment_gather(segment_sum(hit, segments), segments).clamp(min=1)
    return segment_gather(grad, segments) * share, None, None, None


_segment_max.register_autograd(_max_backward, setup_context=_save_max)


@_segment_max.register_vmap
def _(info: Any, in_dims: Any, x: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Any:
    R = info.batch_size
    N, B = lead(x, in_dims[0], R).shape[1], lead(ptr, in_dims[3], R).shape[1] - 1
    union = union_index(R, in_dims[1:], N, B, (batch, order, ptr))
    top = _segment_max(flat(x, in_dims[0], R), *union)
    return top.unflatten(0, (R, B)), 0
