"""Sums, means, maxima and softmaxes per graph of a ragged batch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gmpool.ops.replicas import flat, lead, shifted, union_ptr
from gmpool.ops.segment.segments import Segments
from gmpool.ops.sparse import spmm


def segment_sum(x: Tensor, segments: Segments) -> Tensor:
    """Σ over the nodes of each graph. [N, ...] -> [B, ...]; an empty graph gives 0."""
    if segments.size is not None:
        return x.unflatten(0, (segments.num_graphs, segments.size)).sum(1)
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
    return _segment_max(x, segments.batch, segments.order, segments.ptr)


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
    top = _segment_max(
        flat(x, in_dims[0], R),
        shifted(batch, in_dims[1], R, B),
        shifted(order, in_dims[2], R, N),
        union_ptr(ptr, in_dims[3], R, N),
    )
    return top.unflatten(0, (R, B)), 0
