"""Seed attention: K learned seeds look at the nodes of each graph, keys and values absorbed.

Given Z [N, D] (the propagated features), M [D, H·K] (per head W^K_i Q_iᵀ, scaled) and the constant
score c [H·K] (Q_i · b^K_i, scaled):
    scores  s = Z M + c                     [N, H, K]
    A       softmax of s over the K seeds per node and head, or over the nodes per seed and head
    returns Aᵀ Z [H, B, K, D], Aᵀ 1 [H, B, K] and A, from which a head's output is
            (Aᵀ Z) W^V_i + (Aᵀ 1) b^V_i
No key or value is ever built per node. What is kept for the backward pass is Z and A: O(n·K).

`seed_attention` is one operator with a fused backward; `seed_attention_composed` is the same from
differentiable operators, and serves second derivatives and replicas.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gmpool.ops.grouped import collect, collect_reference, match, spread, union_index
from gmpool.ops.replicas import lead
from gmpool.ops.segment import (
    Segments,
    segment_gather,
    segment_reference,
    segment_softmax,
    segment_sum,
)
from gmpool.ops.sparse import wide

Three = tuple[Tensor, Tensor, Tensor]


def seed_attention(
    z: Tensor, m: Tensor, c: Tensor, segments: Segments, num_heads: int, axis: str
) -> Three:
    """(Aᵀ Z [H, B, K, D], Aᵀ 1 [H, B, K], A [N, H, K]). z [N, D], m [D, H·K], c [H·K]"""
    if m.shape[1] == num_heads and axis == "seeds":
        return _one_seed(z, segments, num_heads)
    return _attend(z, m, c, segments.batch, segments.order, segments.ptr, num_heads, axis)


def _one_seed(z: Tensor, segments: Segments, H: int) -> Three:
    """A softmax over one seed is 1: pooling is a sum, and there is no score to differentiate."""
    B = segments.num_graphs
    pooled = segment_sum(z, segments)[None, :, None].expand(H, B, 1, z.shape[1])
    mass = segments.counts.to(z.dtype)[None, :, None].expand(H, B, 1)
    return pooled, mass, z.new_ones(z.shape[0], H, 1)


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


def seed_attention_composed(
    z: Tensor, m: Tensor, c: Tensor, segments: Segments, num_heads: int, axis: str
) -> Three:
    """seed_attention from operators that are differentiable as often as one likes."""
    return _pool(z, (z @ m + c).unflatten(1, (num_heads, -1)), segments, axis)


def _pool(z: Tensor, scores: Tensor, segments: Segments, axis: str) -> Three:
    """From the scores [N, H, K] on."""
    a = seed_softmax(scores, segments, axis)
    mass = segment_sum(a.flatten(1), segments).view(-1, *a.shape[1:]).transpose(0, 1)
    return collect(a, z, segments), mass, a


def seed_attention_reference(
    z: Tensor, m: Tensor, c: Tensor, segments: Segments, num_heads: int, axis: str
) -> Three:
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
    z: Tensor,
    m: Tensor,
    c: Tensor,
    batch: Tensor,
    order: Tensor,
    ptr: Tensor,
    num_heads: int,
    axis: str,
) -> Three:
    segments = Segments(batch, order, ptr)
    rows, mat, const = wide(z), wide(m), wide(c)
    pooled, mass, a = seed_attention_composed(rows, mat, const, segments, num_heads, axis)
    return pooled.to(z.dtype), mass.contiguous().to(z.dtype), a.contiguous().to(z.dtype)


@_attend.register_fake
def _(
    z: Tensor, m: Tensor, c: Tensor, batch: Tensor, order: Tensor, ptr: Tensor, H: int, axis: str
) -> Three:
    N, D, K, B = z.shape[0], z.shape[1], m.shape[1] // H, ptr.shape[0] - 1
    return z.new_empty(H, B, K, D), z.new_empty(H, B, K), z.new_empty(N, H, K)


def _save(ctx: Any, inputs: tuple[Any, ...], output: Three) -> None:
    z, m, _, batch, order, ptr, _, ctx.axis = inputs
    ctx.save_for_backward(z, m, output[2], batch, order, ptr)


def _backward(ctx: Any, g: Tensor, g_mass: Tensor, g_a: Tensor) -> tuple[Tensor | None, ...]:
    z, m, a, *index = ctx.saved_tensors
    # Grad mode is on here only when the gradient itself will be differentiated.
    backward: Any = _backward_composed if torch.is_grad_enabled() else _attend_backward
    grads = backward(z, m, a, g, g_mass, g_a, *index, ctx.axis)
    return *grads, None, None, None, None, None


def _backward_composed(
    z: Tensor,
    m: Tensor,
    a: Tensor,
    g: Tensor,
    g_mass: Tensor,
    g_a: Tensor,
    batch: Tensor,
    order: Tensor,
    ptr: Tensor,
    axis: str,
) -> Three:
    segments = Segments(batch, order, ptr)
    per_graph = g_mass.transpose(0, 1).flatten(1)  # [B, H·K]
    da = match(z, g, segments) + segment_gather(per_graph, segments).view_as(a) + g_a
    ds = _softmax_backward(a, da, segments, axis).flatten(1)  # [N, H·K]
    return spread(a, g, segments) + ds @ m.t(), z.t() @ ds, ds.sum(0)


@torch.library.custom_op("gmpool::seed_attention_backward", mutates_args=())
def _attend_backward(
    z: Tensor,
    m: Tensor,
    a: Tensor,
    g: Tensor,
    g_mass: Tensor,
    g_a: Tensor,
    batch: Tensor,
    order: Tensor,
    ptr: Tensor,
    axis: str,
) -> Three:
    """(∂z, ∂m, ∂c), with one buffer for ∂z = A g + ∂s Mᵀ."""
    segments = Segments(batch, order, ptr)
    z_, m_, a_, g_ = wide(z), wide(m), wide(a), wide(g)
    per_graph = wide(g_mass).transpose(0, 1).flatten(1)
    da = match(z_, g_, segments) + wide(g_a)
    da += per_graph.index_select(0, batch).view_as(da)
    ds = _softmax_backward(a_, da, segments, axis).flatten(1)  # [N, H·K]
    dm, dc = z_.t() @ ds, ds.sum(0)
    dz = spread(a_, g_, segments).addmm_(ds, m_.t())
    return dz.to(z.dtype), dm.to(m.dtype), dc.to(m.dtype)


@_attend_backward.register_fake
def _(z: Tensor, m: Tensor, a: Tensor, *rest: Any) -> Three:
    return torch.empty_like(z), torch.empty_like(m), m.new_empty(m.shape[1])


_attend.register_autograd(_backward, setup_context=_save)


@_attend.register_vmap
def _(
    info: Any,
    in_dims: Any,
    z: Tensor,
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
    rows = lead(z, in_dims[0], R)  # [R, N, D]
    scores = torch.baddbmm(lead(c, in_dims[2], R)[:, None], rows, lead(m, in_dims[1], R))
    N, B = rows.shape[1], lead(ptr, in_dims[5], R).shape[1] - 1
    segments = Segments(*union_index(R, in_dims[3:6], N, B, (batch, order, ptr)))
    heads = scores.flatten(0, 1).unflatten(1, (num_heads, -1))  # [R·N, H, K]
    pooled, mass, a = _pool(rows.flatten(0, 1), heads, segments, axis)
    per_replica = (pooled.unflatten(1, (R, B)), mass.unflatten(1, (R, B)), a.unflatten(0, (R, N)))
    return per_replica, (1, 1, 0)
