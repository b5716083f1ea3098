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
from gmpool.ops.replicas import flat, lead, shifted, union_ptr
from gmpool.ops.segment import Segments
from gmpool.ops.sparse import add_products, wide

# Multiply-adds per graph above which one matrix product per graph beats embedding_bag, measured on
# two CPU cores: a product has a fixed cost of some 10 µs and then runs 3 × faster.
LARGE_GRAPH = 800_000


def collect(a: Tensor, z: Tensor, segments: Segments) -> Tensor:
    """Aᵀ Z per graph. a [N, H, K], z [N, D] -> [H, B, K, D]"""
    return _collect(a, z, segments.batch, segments.order, segments.ptr)


def spread(a: Tensor, o: Tensor, segments: Segments) -> Tensor:
    """A O per graph. a [N, H, K], o [H, B, K, D] -> [N, D]"""
    return _spread(a, o, segments.batch, segments.order, segments.ptr)


def match(z: Tensor, o: Tensor, segments: Segments) -> Tensor:
    """Z Oᵀ per graph. z [N, D], o [H, B, K, D] -> [N, H, K]"""
    return _match(z, o, segments.batch, segments.order, segments.ptr)


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
    if bool((order[1:] < order[:-1]).any()):
        rows = rows.index_select(0, order)
    return rows.split((ptr[1:] - ptr[:-1]).tolist())


def unsorted(rows: Tensor, order: Tensor) -> Tensor:
    """Undo the sort of sorted_rows."""
    if bool((order[1:] < order[:-1]).any()):
        return torch.empty_like(rows).index_copy_(0, order, rows)
    return rows


def slot_rows(batch: Tensor, H: int, B: int, K: int) -> Tensor:
    """For each node the H·K rows of its graph in [H·B·K, D]. [N, H·K]"""
    h = torch.arange(H, device=batch.device)[:, None] * (B * K)
    k = torch.arange(K, device=batch.device)
    return (batch * K)[:, None] + (h + k).flatten()


def bag_sum(table: Tensor, rows: Tensor, offsets: Tensor, weight: Tensor) -> Tensor:
    """Σ over each bag of weight · table row. (scale_grad, mode=sum, sparse, include_last follow)"""
    return torch.embedding_bag(table, rows, offsets, False, 0, False, weight, True)[0]


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
    # Bag (h, b, k) holds the nodes of graph b; the layout of one head serves all of them.
    per_bag = (ptr[1:] - ptr[:-1]).repeat_interleave(K)  # [B·K]
    ends = per_bag.cumsum(0)
    first = ptr[:-1].repeat_interleave(K) - (ends - per_bag)
    place = torch.arange(N * K, device=ptr.device)
    node = order.index_select(0, place + first.repeat_interleave(per_bag, output_size=N * K))
    k = torch.arange(K, device=ptr.device).repeat(B).repeat_interleave(per_bag, output_size=N * K)
    entry = node * (H * K) + k  # of head 0 in a, flattened; head h is K further on
    if H > 1:
        heads = torch.arange(H, device=ptr.device)[:, None]
        node, entry = node.repeat(H), (entry + heads * K).flatten()
        ends = (ends + heads * (N * K)).flatten()
    offsets = torch.cat([ends.new_zeros(1), ends])
    weight = a.flatten().index_select(0, entry)
    return [
        bag_sum(z.contiguous(), node, offsets, weight.to(z.dtype)).view(H, B, K, -1) for z in blocks
    ]


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
    rows = slot_rows(batch, H, B, K).flatten()
    offsets = H * K * torch.arange(N + 1, device=batch.device)
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
    rows = slot_rows(batch, H, B, K).flatten()
    offsets = H * K * torch.arange(N + 1, device=batch.device)
    flat = scores.flatten()
    for z, o in zip(zs, os, strict=True):
        flat = add_products(flat, offsets, rows, z, o.reshape(H * B * K, -1))
    return flat.view(N, H, K)


@torch.library.custom_op("gmpool::collect", mutates_args=())
def _collect(a: Tensor, z: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    return collect_kernel(wide(a), [wide(z)], order, ptr)[0].to(z.dtype)


@torch.library.custom_op("gmpool::spread", mutates_args=())
def _spread(a: Tensor, o: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    return spread_kernel(wide(a), [wide(o)], batch, order, ptr)[0].to(o.dtype)


@torch.library.custom_op("gmpool::match", mutates_args=())
def _match(z: Tensor, o: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    return match_kernel([wide(z)], [wide(o)], batch, order, ptr).to(z.dtype)


@_collect.register_fake
def _(a: Tensor, z: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    return z.new_empty(a.shape[1], ptr.shape[0] - 1, a.shape[2], z.shape[1])


@_spread.register_fake
def _(a: Tensor, o: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    return o.new_empty(a.shape[0], o.shape[3])


@_match.register_fake
def _(z: Tensor, o: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    return z.new_empty(z.shape[0], o.shape[0], o.shape[2])


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
