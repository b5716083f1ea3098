"""Products of a ragged [N, ·] tensor with per-graph [H, B, K, D] tensors, graph by graph.

With node i in graph b(i), and H heads that share the rows z_i:
    collect  o_hbk = Σ_{i in b} a_ihk z_i            [H, B, K, D]   Aᵀ Z    (pooling)
    spread   z_i   = Σ_hk a_ihk o_{h b(i) k}         [N, D]         A O     (unpooling)
    match    s_ihk = z_i · o_{h b(i) k}              [N, H, K]      Z Oᵀ    (scores)
The three are closed under differentiation: the derivatives of each are the other two.

Small graphs go through embedding_bag, whose bags are (head, graph, k) or nodes; large graphs are
one matrix product each, which reads Z once. Which is cheaper is decided by counting operations.
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


@torch.library.custom_op("gmpool::collect", mutates_args=())
def _collect(a: Tensor, z: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    (N, H, K), D, B = a.shape, z.shape[1], ptr.shape[0] - 1
    a_, z_ = wide(a), wide(z).contiguous()
    if N == 0:
        return z.new_zeros(H, B, K, D)
    if is_large(N, H * K, D, B):
        out = z_.new_empty(B, H * K, D)
        rows = a_.reshape(N, H * K)
        graphs = zip(sorted_rows(rows, order, ptr), sorted_rows(z_, order, ptr), out, strict=True)
        for a_b, z_b, out_b in graphs:
            torch.mm(a_b.t(), z_b, out=out_b)
        return out.view(B, H, K, D).transpose(0, 1).contiguous().to(z.dtype)
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
    weight = a_.flatten().index_select(0, entry).to(z_.dtype)
    return bag_sum(z_, node, offsets, weight).view(H, B, K, D).to(z.dtype)


@torch.library.custom_op("gmpool::spread", mutates_args=())
def _spread(a: Tensor, o: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    (N, H, K), (_, B, _, D) = a.shape, o.shape
    a_, o_ = wide(a).reshape(N, H * K), wide(o)
    if N == 0 or H * K == 0:
        return o.new_zeros(N, D)
    if is_large(N, H * K, D, B):
        out = o_.new_empty(N, D)
        by_graph = o_.transpose(0, 1).reshape(B, H * K, D)
        parts = out.split((ptr[1:] - ptr[:-1]).tolist())
        for a_b, o_b, out_b in zip(sorted_rows(a_, order, ptr), by_graph, parts, strict=True):
            torch.mm(a_b, o_b, out=out_b)
        return unsorted(out, order).to(o.dtype)
    rows = slot_rows(batch, H, B, K).flatten()
    offsets = H * K * torch.arange(N + 1, device=batch.device)
    table = o_.reshape(H * B * K, D)
    return bag_sum(table, rows, offsets, a_.flatten().to(o_.dtype)).to(o.dtype)


@torch.library.custom_op("gmpool::match", mutates_args=())
def _match(z: Tensor, o: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    (N, D), (H, B, K, _) = z.shape, o.shape
    z_, o_ = wide(z).contiguous(), wide(o)
    if N == 0 or H * K == 0:
        return z.new_zeros(N, H, K)
    if is_large(N, H * K, D, B):
        out = z_.new_empty(N, H * K)
        by_graph = o_.transpose(0, 1).reshape(B, H * K, D)
        parts = out.split((ptr[1:] - ptr[:-1]).tolist())
        for z_b, o_b, out_b in zip(sorted_rows(z_, order, ptr), by_graph, parts, strict=True):
            torch.mm(z_b, o_b.t(), out=out_b)
        return unsorted(out, order).view(N, H, K).to(z.dtype)
    rows = slot_rows(batch, H, B, K).flatten()
    node = torch.arange(N, device=z.device)
    table = o_.reshape(H * B * K, D)
    # The derivative of embedding_bag by its weights is this dot product per entry.
    s = torch.ops.aten._embedding_bag_per_sample_weights_backward(
        z_, table, rows, H * K * node, node.repeat_interleave(H * K), 0
    )
    return s.view(N, H, K).to(z.dtype)


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
