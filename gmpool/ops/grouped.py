"""Products of a ragged [N, ·] tensor with per-graph [B, J, D] tensors, graph by graph.

With node i in graph b(i):
    collect  o_bj = Σ_{i in b} a_ij z_i           [B, J, D]   Aᵀ Z    (pooling)
    spread   z_i  = Σ_j a_ij o_{b(i) j}           [N, D]      A O     (unpooling)
    match    s_ij = z_i · o_{b(i) j}              [N, J]      Z Oᵀ    (scores)
The three are closed under differentiation: the derivatives of each are the other two.

Small graphs go through embedding_bag, whose bags are (graph, j) or nodes; large graphs are one
matrix product each, which reads Z once. Which is cheaper is decided by counting operations.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gmpool.ops.replicas import flat, lead, shifted, union_ptr
from gmpool.ops.segment import Segments
from gmpool.ops.sparse import wide

# Multiply-adds per graph above which one matrix product per graph beats embedding_bag, measured on
# two CPU cores: a product has a fixed cost of some 10 µs and then runs 3 × faster.
LARGE_GRAPH = 800_000
LARGE_GRAPH_MATCH = 200_000  # the dot products of match are slower, so products pay earlier


def collect(a: Tensor, z: Tensor, segments: Segments) -> Tensor:
    """Aᵀ Z per graph. a [N, J], z [N, D] -> [B, J, D]"""
    return _collect(a, z, segments.batch, segments.order, segments.ptr)


def spread(a: Tensor, o: Tensor, segments: Segments) -> Tensor:
    """A O per graph. a [N, J], o [B, J, D] -> [N, D]"""
    return _spread(a, o, segments.batch, segments.order, segments.ptr)


def match(z: Tensor, o: Tensor, segments: Segments) -> Tensor:
    """Z Oᵀ per graph. z [N, D], o [B, J, D] -> [N, J]"""
    return _match(z, o, segments.batch, segments.order, segments.ptr)


def collect_reference(a: Tensor, z: Tensor, segments: Segments) -> Tensor:
    """What collect means; spread and match likewise."""
    member = torch.nn.functional.one_hot(segments.batch, segments.num_graphs).to(z.dtype)
    return torch.einsum("nb,nj,nd->bjd", member, a, z)


def spread_reference(a: Tensor, o: Tensor, segments: Segments) -> Tensor:
    return torch.einsum("nj,njd->nd", a, o[segments.batch])


def match_reference(z: Tensor, o: Tensor, segments: Segments) -> Tensor:
    return torch.einsum("nd,njd->nj", z, o[segments.batch])


def _large(N: int, J: int, D: int, B: int, bound: int = LARGE_GRAPH) -> bool:
    return N * J * D > bound * max(B, 1)


def _sorted_rows(rows: Tensor, order: Tensor, ptr: Tensor) -> tuple[Tensor, ...]:
    """Each graph's rows, as views where the nodes are sorted already."""
    if bool((order[1:] < order[:-1]).any()):
        rows = rows.index_select(0, order)
    return rows.split((ptr[1:] - ptr[:-1]).tolist())


def _unsorted(rows: Tensor, order: Tensor) -> Tensor:
    """Undo the sort of _sorted_rows."""
    if bool((order[1:] < order[:-1]).any()):
        return torch.empty_like(rows).index_copy_(0, order, rows)
    return rows


def _slots(batch: Tensor, J: int) -> tuple[Tensor, Tensor]:
    """For each node the J rows of its graph in [B·J, D], and the offsets of these N bags."""
    slots = (batch[:, None] * J + torch.arange(J, device=batch.device)).flatten()
    return slots, J * torch.arange(batch.shape[0] + 1, device=batch.device)


@torch.library.custom_op("gmpool::collect", mutates_args=())
def _collect(a: Tensor, z: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    (N, J), D, B = a.shape, z.shape[1], ptr.shape[0] - 1
    a_, z_ = wide(a), wide(z).contiguous()
    out = z_.new_zeros(B, J, D)
    if N == 0:
        return out.to(z.dtype)
    if _large(N, J, D, B):
        graphs = zip(_sorted_rows(a_, order, ptr), _sorted_rows(z_, order, ptr), out, strict=True)
        for a_b, z_b, out_b in graphs:
            torch.mm(a_b.t(), z_b, out=out_b)
        return out.to(z.dtype)
    per_bag = (ptr[1:] - ptr[:-1]).repeat_interleave(J)  # [B·J] nodes in bag (b, j)
    bag_ptr = torch.zeros(B * J + 1, dtype=torch.long, device=ptr.device)
    torch.cumsum(per_bag, 0, out=bag_ptr[1:])
    first = ptr[:-1].repeat_interleave(J) - bag_ptr[:-1]
    place = torch.arange(N * J, device=ptr.device)
    node = order.index_select(0, place + first.repeat_interleave(per_bag, output_size=N * J))
    j = torch.arange(J, device=ptr.device).repeat(B).repeat_interleave(per_bag, output_size=N * J)
    weight = a_.flatten().index_select(0, node * J + j).to(z_.dtype)
    out = torch.embedding_bag(z_, node, bag_ptr, False, 0, False, weight, True)[0]
    return out.view(B, J, D).to(z.dtype)


@torch.library.custom_op("gmpool::spread", mutates_args=())
def _spread(a: Tensor, o: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    (N, J), D, B = a.shape, o.shape[2], o.shape[0]
    a_, o_ = wide(a).contiguous(), wide(o).contiguous()
    if N == 0 or J == 0:
        return o.new_zeros(N, D)
    if _large(N, J, D, B):
        out = o_.new_empty(N, D)
        sizes = (ptr[1:] - ptr[:-1]).tolist()
        graphs = zip(_sorted_rows(a_, order, ptr), o_, out.split(sizes), strict=True)
        for a_b, o_b, out_b in graphs:
            torch.mm(a_b, o_b, out=out_b)
        return _unsorted(out, order).to(o.dtype)
    slots, offsets = _slots(batch, J)
    weight = a_.flatten().to(o_.dtype)
    out = torch.embedding_bag(
        o_.view(B * J, D), slots, offsets, False, 0, False, weight, True
    )[0]
    return out.to(o.dtype)


@torch.library.custom_op("gmpool::match", mutates_args=())
def _match(z: Tensor, o: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    (N, D), (B, J, _) = z.shape, o.shape
    z_, o_ = wide(z).contiguous(), wide(o).contiguous()
    if N == 0 or J == 0:
        return z.new_zeros(N, J)
    if _large(N, J, D, B, LARGE_GRAPH_MATCH):
        out = z_.new_empty(N, J)
        sizes = (ptr[1:] - ptr[:-1]).tolist()
        graphs = zip(_sorted_rows(z_, order, ptr), o_, out.split(sizes), strict=True)
        for z_b, o_b, out_b in graphs:
            torch.mm(z_b, o_b.t(), out=out_b)
        return _unsorted(out, order).to(z.dtype)
    slots, offsets = _slots(batch, J)
    node = torch.arange(N, device=z.device).repeat_interleave(J)
    s = torch.ops.aten._embedding_bag_per_sample_weights_backward(
        z_, o_.view(B * J, D), slots, offsets[:-1], node, 0
    )
    return s.view(N, J).to(z.dtype)


@_collect.register_fake
def _(a: Tensor, z: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    return z.new_empty(ptr.shape[0] - 1, a.shape[1], z.shape[1])


@_spread.register_fake
def _(a: Tensor, o: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    return o.new_empty(a.shape[0], o.shape[2])


@_match.register_fake
def _(z: Tensor, o: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    return z.new_empty(z.shape[0], o.shape[1])


def _save(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _collect_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    a, z, *index = ctx.saved_tensors
    da = _match(z, grad, *index).to(a.dtype) if ctx.needs_input_grad[0] else None
    dz = _spread(a, grad, *index) if ctx.needs_input_grad[1] else None
    return da, dz, None, None, None


def _spread_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    a, o, *index = ctx.saved_tensors
    da = _match(grad, o, *index).to(a.dtype) if ctx.needs_input_grad[0] else None
    do = _collect(a, grad, *index) if ctx.needs_input_grad[1] else None
    return da, do, None, None, None


def _match_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    z, o, *index = ctx.saved_tensors
    dz = _spread(grad, o, *index) if ctx.needs_input_grad[0] else None
    do = _collect(grad, z, *index) if ctx.needs_input_grad[1] else None
    return dz, do, None, None, None


_collect.register_autograd(_collect_backward, setup_context=_save)
_spread.register_autograd(_spread_backward, setup_context=_save)
_match.register_autograd(_match_backward, setup_context=_save)


def _union(R: int, dims: Any, N: int, B: int, index: Any) -> tuple[Tensor, Tensor, Tensor]:
    batch, order, ptr = index
    return (
        shifted(batch, dims[0], R, B),
        shifted(order, dims[1], R, N),
        union_ptr(ptr, dims[2], R, N),
    )


@_collect.register_vmap
def _(info: Any, in_dims: Any, a: Tensor, z: Tensor, *index: Tensor) -> tuple[Tensor, int]:
    R = info.batch_size
    N, B = lead(a, in_dims[0], R).shape[1], lead(index[2], in_dims[4], R).shape[1] - 1
    union = _union(R, in_dims[2:], N, B, index)
    out = _collect(flat(a, in_dims[0], R), flat(z, in_dims[1], R), *union)
    return out.unflatten(0, (R, B)), 0


def _per_node_vmap(op: Any) -> Any:
    """spread and match: both take a per-node and a per-graph tensor and give a per-node one."""

    def rule(info: Any, in_dims: Any, rows: Tensor, o: Tensor, *index: Tensor) -> Any:
        R = info.batch_size
        N, B = lead(rows, in_dims[0], R).shape[1], lead(o, in_dims[1], R).shape[1]
        union = _union(R, in_dims[2:], N, B, index)
        out = op(flat(rows, in_dims[0], R), flat(o, in_dims[1], R), *union)
        return out.unflatten(0, (R, N)), 0

    return rule


_spread.register_vmap(_per_node_vmap(_spread))
_match.register_vmap(_per_node_vmap(_match))
