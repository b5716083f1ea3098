"""Products of a ragged [N, ·] tensor with per-graph [H, B, K, D] tensors, graph by graph.

With node i in graph b(i), and H heads that share the rows z_i:
    collect  o_hbk = Σ_{i in b} a_ihk z_i            [H, B, K, D]   Aᵀ Z    (pooling)
    spread   z_i   = Σ_hk a_ihk o_{h b(i) k}         [N, D]         A O     (unpooling)
    match    s_ihk = z_i · o_{h b(i) k}              [N, H, K]      Z Oᵀ    (scores)
The three are closed under differentiation: the derivatives of each are the other two.

Small graphs go through embedding_bag, whose bags are (head, graph, k) or nodes; large graphs are
one matrix product each, which reads Z once. Which is cheaper is decided by counting operations. On
a GPU with Triton one kernel each serves all sizes (triton_grouped.py).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gmpool.ops import gpu
from gmpool.ops.bags import bag_sum, collect_by_bags, is_sorted, slot_offsets, slot_rows
from gmpool.ops.direct import direct
from gmpool.ops.replicas import flat, lead, shifted, union_ptr
from gmpool.ops.segment import Segments
from gmpool.ops.sparse import add_products, wide

# Multiply-adds per graph above which one matrix product per graph beats embedding_bag, measured on
# two CPU cores: a product has a fixed cost of some 10 µs and then runs 3 × faster.
LARGE_GRAPH = 800_000


def collect(a: Tensor, z: Tensor, segments: Segments) -> Tensor:
    """Aᵀ Z per graph. a [N, H, K], z [N, D] -> [H, B, K, D]"""
    return _call_collect(a, z, segments.batch, segments.order, segments.ptr)


def spread(a: Tensor, o: Tensor, segments: Segments) -> Tensor:
    """A O per graph. a [N, H, K], o [H, B, K, D] -> [N, D]"""
    return _call_spread(a, o, segments.batch, segments.order, segments.ptr)


def match(z: Tensor, o: Tensor, segments: Segments) -> Tensor:
    """Z Oᵀ per graph. z [N, D], o [H, B, K, D] -> [N, H, K]"""
    return _call_match(z, o, segments.batch, segments.order, segments.ptr)


def collect_reference(a: Tensor, z: Tensor, segments: Segments) -> Tensor:
    """What collect means; spread and match likewise."""
    member = torch.nn.functional.one_hot(segments.batch, segments.num_graphs).to(z.dtype)
    return torch.einsum("nb,nhk,nd->hbkd", member, a, z)


def spread_reference(a: Tensor, o: Tensor, segments: Segments) -> Tensor:
    return torch.einsum("nhk,hnkd->nd", a, o[:, segments.batch])


def match_reference(z: Tensor, o: Tensor, segments: Segments) -> Tensor:
    return torch.einsum("nd,hnkd->nhk", z, o[:, segments.batch])


def is_large(num_nodes: int, slots: int, width: int, num_graphs: int) -> bool:
    return num_nodes * slots * width > LARGE_GRAPH * max(num_graphs, 1)


def sorted_rows(rows: Tensor, order: Tensor, ptr: Tensor) -> tuple[Tensor, ...]:
    """Each graph's rows, as views where the nodes are sorted already."""
    if not is_sorted(order):
        rows = rows.index_select(0, order)
    return rows.split((ptr[1:] - ptr[:-1]).tolist())


def unsorted(rows: Tensor, order: Tensor) -> Tensor:
    """Undo the sort of sorted_rows."""
    return rows if is_sorted(order) else torch.empty_like(rows).index_copy_(0, order, rows)


def collect_kernel(a: Tensor, blocks: list[Tensor], order: Tensor, ptr: Tensor) -> list[Tensor]:
    """Aᵀ Z for each block of columns of Z; where to find what is worked out once for all blocks."""
    (N, H, K), B = a.shape, ptr.shape[0] - 1
    if N == 0:
        return [z.new_zeros(H, B, K, z.shape[1]) for z in blocks]
    if gpu.usable(blocks[0]):
        from gmpool.ops import triton_grouped

        return triton_grouped.collect(a, blocks, order, ptr)
    if is_large(N, H * K, sum(z.shape[1] for z in blocks), B):
        parts = sorted_rows(a.reshape(N, H * K), order, ptr)
        return [_collect_by_graph(parts, z, order, ptr, H, K) for z in blocks]
    return collect_by_bags(a, blocks, order, ptr)


def _collect_by_graph(
    parts: tuple[Tensor, ...], z: Tensor, order: Tensor, ptr: Tensor, H: int, K: int
) -> Tensor:
    out = z.new_empty(len(parts), H * K, z.shape[1])
    for a_b, z_b, out_b in zip(parts, sorted_rows(z, order, ptr), out, strict=True):
        torch.mm(a_b.t(), z_b, out=out_b)
    return out.unflatten(1, (H, K)).transpose(0, 1).contiguous()


def spread_kernel(
    a: Tensor, blocks: list[Tensor], batch: Tensor, order: Tensor, ptr: Tensor
) -> list[Tensor]:
    """A O for each block of columns of O."""
    (N, H, K), B = a.shape, ptr.shape[0] - 1
    weight = a.reshape(N, H * K)
    if N == 0 or H * K == 0:
        return [o.new_zeros(N, o.shape[3]) for o in blocks]
    if gpu.usable(blocks[0]):
        from gmpool.ops import triton_grouped

        return triton_grouped.spread(a, blocks, order, ptr)
    if is_large(N, H * K, sum(o.shape[3] for o in blocks), B):
        parts = sorted_rows(weight, order, ptr)
        outs = []
        for o in blocks:
            out = o.new_empty(N, o.shape[3])
            by_graph = o.transpose(0, 1).flatten(1, 2)  # [B, H·K, D]
            pieces = out.split((ptr[1:] - ptr[:-1]).tolist())
            for a_b, o_b, out_b in zip(parts, by_graph, pieces, strict=True):
                torch.mm(a_b, o_b, out=out_b)
            outs.append(unsorted(out, order))
        return outs
    rows = slot_rows(batch, H, B, K)
    offsets = slot_offsets(batch, H * K)
    weight = weight.flatten()
    return [bag_sum(o.reshape(H * B * K, -1), rows, offsets, weight.to(o.dtype)) for o in blocks]


def match_kernel(
    zs: list[Tensor], os: list[Tensor], batch: Tensor, order: Tensor, ptr: Tensor
) -> Tensor:
    """Z Oᵀ, summed over blocks of columns of both."""
    N, (H, B, K, _) = batch.shape[0], os[0].shape
    if N * H * K == 0:
        return zs[0].new_zeros(N, H, K)
    if gpu.usable(zs[0]):
        from gmpool.ops import triton_grouped

        return triton_grouped.match(zs, os, order, ptr)
    scores = zs[0].new_zeros(N, H, K)
    if is_large(N, H * K, sum(z.shape[1] for z in zs), B):
        out = scores.view(N, H * K)
        for z, o in zip(zs, os, strict=True):
            pieces = out.split((ptr[1:] - ptr[:-1]).tolist())
            by_graph = o.transpose(0, 1).flatten(1, 2)  # [B, H·K, D]
            for z_b, o_b, out_b in zip(sorted_rows(z, order, ptr), by_graph, pieces, strict=True):
                out_b.addmm_(z_b, o_b.t())
        return unsorted(out, order).view(N, H, K)
    rows = slot_rows(batch, H, B, K)
    offsets = slot_offsets(batch, H * K)
    flat = scores.flatten()
    for z, o in zip(zs, os, strict=True):
        flat = add_products(flat, offsets, rows, z, o.reshape(H * B * K, -1))
    return flat.view(N, H, K)


def _collect_alone(a: Tensor, z: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    return collect_kernel(wide(a), [wide(z)], order, ptr)[0].to(z.dtype)


def _spread_alone(a: Tensor, o: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    return spread_kernel(wide(a), [wide(o)], batch, order, ptr)[0].to(o.dtype)


def _match_alone(z: Tensor, o: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    return match_kernel([wide(z)], [wide(o)], batch, order, ptr).to(z.dtype)


_collect = torch.library.custom_op("gmpool::collect", _collect_alone, mutates_args=())


@_collect.register_fake
def _(a: Tensor, z: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    return z.new_empty(a.shape[1], ptr.shape[0] - 1, a.shape[2], z.shape[1])


_spread = torch.library.custom_op("gmpool::spread", _spread_alone, mutates_args=())


@_spread.register_fake
def _(a: Tensor, o: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    return o.new_empty(a.shape[0], o.shape[3])


_match = torch.library.custom_op("gmpool::match", _match_alone, mutates_args=())


@_match.register_fake
def _(z: Tensor, o: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    return z.new_empty(z.shape[0], o.shape[0], o.shape[2])


def _save(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _collect_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    a, z, *index = ctx.saved_tensors
    da = _call_match(z, grad, *index).to(a.dtype) if ctx.needs_input_grad[0] else None
    dz = _call_spread(a, grad, *index) if ctx.needs_input_grad[1] else None
    return da, dz, None, None, None


def _spread_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    a, o, *index = ctx.saved_tensors
    da = _call_match(grad, o, *index).to(a.dtype) if ctx.needs_input_grad[0] else None
    do = _call_collect(a, grad, *index) if ctx.needs_input_grad[1] else None
    return da, do, None, None, None


def _match_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    z, o, *index = ctx.saved_tensors
    dz = _call_spread(grad, o, *index) if ctx.needs_input_grad[0] else None
    do = _call_collect(grad, z, *index) if ctx.needs_input_grad[1] else None
    return dz, do, None, None, None


_collect.register_autograd(_collect_backward, setup_context=_save)
_call_collect = direct(_collect, _collect_alone, _save, _collect_backward)
_spread.register_autograd(_spread_backward, setup_context=_save)
_call_spread = direct(_spread, _spread_alone, _save, _spread_backward)
_match.register_autograd(_match_backward, setup_context=_save)
_call_match = direct(_match, _match_alone, _save, _match_backward)


def union_index(R: int, dims: Any, N: int, B: int, index: Any) -> tuple[Tensor, Tensor, Tensor]:
    """(batch, order, ptr) of the disjoint union of R batches with N nodes and B graphs each."""
    batch, order, ptr = index
    return (
        shifted(batch, dims[0], R, B),
        shifted(order, dims[1], R, N),
        union_ptr(ptr, dims[2], R, N),
    )


def _graphs_side_by_side(o: Tensor, dim: int | None, R: int) -> Tensor:
    """[H, B, K, D] of each replica -> [H, R·B, K, D]"""
    return lead(o, dim, R).transpose(0, 1).flatten(1, 2)


@_collect.register_vmap
def _(info: Any, in_dims: Any, a: Tensor, z: Tensor, *index: Tensor) -> tuple[Tensor, int]:
    R = info.batch_size
    N, B = lead(a, in_dims[0], R).shape[1], lead(index[2], in_dims[4], R).shape[1] - 1
    union = union_index(R, in_dims[2:], N, B, index)
    out = _collect(flat(a, in_dims[0], R), flat(z, in_dims[1], R), *union)
    return out.unflatten(1, (R, B)), 1


def _per_node_vmap(op: Any) -> Any:
    """spread and match: both take a per-node and a per-graph tensor and give a per-node one."""

    def rule(info: Any, in_dims: Any, rows: Tensor, o: Tensor, *index: Tensor) -> Any:
        R = info.batch_size
        N, B = lead(rows, in_dims[0], R).shape[1], lead(o, in_dims[1], R).shape[2]
        union = union_index(R, in_dims[2:], N, B, index)
        out = op(flat(rows, in_dims[0], R), _graphs_side_by_side(o, in_dims[1], R), *union)
        return out.unflatten(0, (R, N)), 0

    return rule


_spread.register_vmap(_per_node_vmap(_spread))
_match.register_vmap(_per_node_vmap(_match))
