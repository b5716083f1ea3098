"""Seed attention: K learned seeds look at the nodes of each graph, keys and values absorbed.

Given Z [N, D] (the propagated features), M [D, H·K] (per head W^K_i Q_iᵀ, scaled) and the constant
score c [H·K] (Q_i · b^K_i, scaled):
    scores  s = Z M + c                     [N, H, K]
    A       softmax of s over the K seeds per node and head, or over the nodes per seed and head
    returns Aᵀ Z [H, B, K, D], Aᵀ 1 [H, B, K] and A, from which a head's output is
            (Aᵀ Z) W^V_i + (Aᵀ 1) b^V_i
No key or value is ever built per node. What is kept for the backward pass is Z and A: O(n·K).
Z comes as blocks of columns (one, or one per layer with jumping knowledge), so that nobody has to
copy them together and their gradients apart; Aᵀ Z comes back in the same blocks.

It is one operator with a fused backward; a gradient that will itself be differentiated, and
replicas, are composed of the operators of grouped.py and segment.py instead.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gmpool.ops.grouped import (
    collect,
    collect_kernel,
    collect_reference,
    match,
    match_kernel,
    spread,
    spread_kernel,
    union_index,
)
from gmpool.ops.replicas import lead
from gmpool.ops.segment import (
    Segments,
    segment_gather,
    segment_reference,
    segment_softmax,
    segment_sum,
)
from gmpool.ops.sparse import wide

Attended = tuple[list[Tensor], Tensor, Tensor]


def seed_attention(
    blocks: list[Tensor], m: Tensor, c: Tensor, segments: Segments, num_heads: int, axis: str
) -> Attended:
    """(blocks of Aᵀ Z [H, B, K, D_l], Aᵀ 1 [H, B, K], A [N, H, K]).

    blocks: Z as columns [N, D_l]; m [D, H·K], c [H·K]
    """
    if m.shape[1] == num_heads and axis == "seeds":
        return _one_seed(blocks, segments, num_heads)
    index = (segments.batch, segments.order, segments.ptr)
    *pooled, mass, a = _attend(blocks, m, c, *index, num_heads, axis)
    return pooled, mass, a


def _one_seed(blocks: list[Tensor], segments: Segments, H: int) -> Attended:
    """A softmax over one seed is 1: pooling is a sum, and there is no score to differentiate."""
    B, z = segments.num_graphs, blocks[0]
    sums = [segment_sum(z, segments)[None, :, None].expand(H, B, 1, -1) for z in blocks]
    mass = segments.counts.to(z.dtype)[None, :, None].expand(H, B, 1)
    return sums, mass, z.new_ones(z.shape[0], H, 1)


def seed_softmax(scores: Tensor, segments: Segments, axis: str) -> Tensor:
    """Attention weights. scores [N, H, K] -> A [N, H, K]

    axis "seeds": Σ_k A_nhk = 1 for each node (equation in Proposition 5; keeps multiplicity).
    axis "nodes": Σ_{n in graph} A_nhk = 1 for each seed.
    """
    if axis == "seeds":
        # Seeds are few: with nodes innermost the softmax is vectorised over nodes.
        return scores.permute(1, 2, 0).softmax(1).permute(2, 0, 1)
    return segment_softmax(scores.flatten(1), segments).view_as(scores)


def _softmax_backward(a: Tensor, da: Tensor, segments: Segments, axis: str) -> Tensor:
    """∂/∂scores of a softmax with weights a, given ∂/∂a. [N, H, K]"""
    weighted = a * da
    if axis == "seeds":
        return weighted - a * weighted.sum(2, keepdim=True)
    total = segment_sum(weighted.flatten(1), segments)
    return weighted - a * segment_gather(total, segments).view_as(a)


def _by_block(t: Tensor, blocks: list[Tensor]) -> tuple[Tensor, ...]:
    """Rows of t [D, ·] apart as the columns of Z are."""
    return t.split([z.shape[1] for z in blocks])


def _scores(blocks: list[Tensor], m: Tensor, c: Tensor) -> Tensor:
    """Z M + c. [N, H·K]"""
    first, *others = zip(blocks, _by_block(m, blocks), strict=True)
    scores = torch.addmm(c, *first)
    for z, m_l in others:
        scores = torch.addmm(scores, z, m_l)
    return scores


def _mass(a: Tensor, segments: Segments) -> Tensor:
    """Aᵀ 1. [N, H, K] -> [H, B, K]"""
    return segment_sum(a.flatten(1), segments).view(-1, *a.shape[1:]).transpose(0, 1)


def seed_attention_reference(
    z: Tensor, m: Tensor, c: Tensor, segments: Segments, num_heads: int, axis: str
) -> tuple[Tensor, Tensor, Tensor]:
    """What seed attention means: one-hot membership and a loop over graphs; slow and plain."""
    N, K = z.shape[0], m.shape[1] // num_heads
    scores = z @ m + c
    if axis == "seeds":
        a = torch.cat([part.softmax(1) for part in scores.split(K, dim=1)], dim=1)
    else:
        a = segment_reference(scores, segments, "softmax")
    a = a.view(N, num_heads, K)
    mass = collect_reference(a, z.new_ones(N, 1), segments)[..., 0]
    return collect_reference(a, z, segments), mass, a


@torch.library.custom_op("gmpool::seed_attention", mutates_args=())
def _attend(
    blocks: list[Tensor],
    m: Tensor,
    c: Tensor,
    batch: Tensor,
    order: Tensor,
    ptr: Tensor,
    num_heads: int,
    axis: str,
) -> list[Tensor]:
    """[*blocks of Aᵀ Z, Aᵀ 1, A]"""
    segments, dtype = Segments(batch, order, ptr), blocks[0].dtype
    zs = [wide(z) for z in blocks]
    scores = _scores(zs, wide(m), wide(c)).unflatten(1, (num_heads, -1))
    a = seed_softmax(scores, segments, axis).contiguous()
    pooled = collect_kernel(a, zs, order, ptr)
    return [t.to(dtype) for t in (*pooled, _mass(a, segments).contiguous(), a)]


@_attend.register_fake
def _(
    blocks: list[Tensor],
    m: Tensor,
    c: Tensor,
    batch: Tensor,
    order: Tensor,
    ptr: Tensor,
    num_heads: int,
    axis: str,
) -> list[Tensor]:
    z, H, K, B = blocks[0], num_heads, m.shape[1] // num_heads, ptr.shape[0] - 1
    pooled = [z.new_empty(H, B, K, block.shape[1]) for block in blocks]
    return [*pooled, z.new_empty(H, B, K), z.new_empty(z.shape[0], H, K)]


def _save(ctx: Any, inputs: tuple[Any, ...], output: list[Tensor]) -> None:
    blocks, m, _, batch, order, ptr, _, ctx.axis = inputs
    ctx.save_for_backward(m, output[-1], batch, order, ptr, *blocks)


def _backward(ctx: Any, grads: list[Tensor]) -> tuple[Any, ...]:
    m, a, batch, order, ptr, *blocks = ctx.saved_tensors
    *g, g_mass, g_a = grads
    # Grad mode is on here only when the gradient itself will be differentiated.
    backward: Any = _backward_composed if torch.is_grad_enabled() else _attend_backward
    *dz, dm, dc = backward(blocks, m, a, g, g_mass, g_a, batch, order, ptr, ctx.axis)
    return dz, dm, dc, None, None, None, None, None


def _backward_composed(
    blocks: list[Tensor],
    m: Tensor,
    a: Tensor,
    g: list[Tensor],
    g_mass: Tensor,
    g_a: Tensor,
    batch: Tensor,
    order: Tensor,
    ptr: Tensor,
    axis: str,
) -> list[Tensor]:
    segments = Segments(batch, order, ptr)
    da = segment_gather(g_mass.transpose(0, 1).flatten(1), segments).view_as(a) + g_a
    for z, g_l in zip(blocks, g, strict=True):
        da = da + match(z, g_l, segments)
    ds = _softmax_backward(a, da, segments, axis).flatten(1)  # [N, H·K]
    dz = [
        spread(a, g_l, segments) + ds @ m_l.t()
        for g_l, m_l in zip(g, _by_block(m, blocks), strict=True)
    ]
    return [*dz, torch.cat([z.t() @ ds for z in blocks]), ds.sum(0)]


@torch.library.custom_op("gmpool::seed_attention_backward", mutates_args=())
def _attend_backward(
    blocks: list[Tensor],
    m: Tensor,
    a: Tensor,
    g: list[Tensor],
    g_mass: Tensor,
    g_a: Tensor,
    batch: Tensor,
    order: Tensor,
    ptr: Tensor,
    axis: str,
) -> list[Tensor]:
    """[*∂z, ∂m, ∂c], with one buffer for each block of ∂z = A g + ∂s Mᵀ."""
    segments = Segments(batch, order, ptr)
    zs, gs, a_ = [wide(z) for z in blocks], [wide(t) for t in g], wide(a)
    da = match_kernel(zs, gs, batch, order, ptr) + wide(g_a)
    per_graph = wide(g_mass).transpose(0, 1).flatten(1)  # [B, H·K]
    da += per_graph.index_select(0, batch).view_as(da)
    ds = _softmax_backward(a_, da, segments, axis).flatten(1)  # [N, H·K]
    dz = spread_kernel(a_, gs, batch, order, ptr)
    for dz_l, m_l in zip(dz, _by_block(wide(m), blocks), strict=True):
        dz_l.addmm_(ds, m_l.t())
    dm = torch.cat([z.t() @ ds for z in zs])
    return [*(t.to(a.dtype) for t in dz), dm.to(m.dtype), ds.sum(0).to(m.dtype)]


@_attend_backward.register_fake
def _(blocks: list[Tensor], m: Tensor, *rest: Any) -> list[Tensor]:
    return [*map(torch.empty_like, blocks), torch.empty_like(m), m.new_empty(m.shape[1])]


_attend.register_autograd(_backward, setup_context=_save)


@_attend.register_vmap
def _(
    info: Any,
    in_dims: Any,
    blocks: list[Tensor],
    m: Tensor,
    c: Tensor,
    batch: Tensor,
    order: Tensor,
    ptr: Tensor,
    num_heads: int,
    axis: str,
) -> Any:
    # Each replica has seeds of its own, so its scores are a batched product; the rest is a union.
    R = info.batch_size
    rows = [lead(z, dim, R) for z, dim in zip(blocks, in_dims[0], strict=True)]  # [R, N, D_l]
    scores = lead(c, in_dims[2], R)[:, None]
    widths = [z.shape[2] for z in rows]
    for z, m_l in zip(rows, lead(m, in_dims[1], R).split(widths, dim=1), strict=True):
        scores = torch.baddbmm(scores, z, m_l)
    N, B = rows[0].shape[1], lead(ptr, in_dims[5], R).shape[1] - 1
    segments = Segments(*union_index(R, in_dims[3:6], N, B, (batch, order, ptr)))
    a = seed_softmax(scores.flatten(0, 1).unflatten(1, (num_heads, -1)), segments, axis)
    pooled = [collect(a, z.flatten(0, 1), segments) for z in rows]
    per_graph = [t.unflatten(1, (R, B)) for t in (*pooled, _mass(a, segments))]
    return [*per_graph, a.unflatten(0, (R, N))], [*[1] * len(per_graph), 0]
