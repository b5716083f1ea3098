"""Seed attention by PyTorch's operators, forward and backward; see operator.py.

A gradient that will itself be differentiated is composed of operators that can be.
"""

import torch
from torch import Tensor

from gmpool.ops.grouped import match, spread
from gmpool.ops.grouped.operator import collect_blocks, match_blocks, spread_blocks
from gmpool.ops.seed_attention.choice import Call, Gradients, Kept, lse_rows
from gmpool.ops.segment import Segments, segment_gather, segment_softmax, segment_sum
from gmpool.ops.wide import wide

MANY_SEEDS = 32
"""From here on a CPU's softmax along the seeds is the faster one; below, ten times slower."""


def seed_softmax(scores: Tensor, segments: Segments, axis: str) -> Tensor:
    """Attention weights. scores [N, H, K] -> A [N, H, K]

    axis "seeds": Σ_k A_nhk = 1 for each node (equation in Proposition 5; keeps multiplicity).
    axis "nodes": Σ_{n in graph} A_nhk = 1 for each seed.
    """
    if axis == "seeds" and (scores.is_cuda or scores.shape[2] >= MANY_SEEDS):
        return scores.softmax(2)
    if axis == "seeds":
        # With nodes innermost the softmax is vectorised over nodes.
        return scores.permute(1, 2, 0).softmax(1).permute(2, 0, 1)
    return segment_softmax(scores.flatten(1), segments).view_as(scores)


def softmax_backward(a: Tensor, da: Tensor, segments: Segments, axis: str) -> Tensor:
    """∂/∂scores of a softmax with weights a, given ∂/∂a. [N, H, K]"""
    weighted = a * da
    if axis == "seeds":
        return weighted - a * weighted.sum(2, keepdim=True)
    total = segment_sum(weighted.flatten(1), segments)
    return weighted - a * segment_gather(total, segments).view_as(a)


def mass_of(a: Tensor, segments: Segments) -> Tensor:
    """Aᵀ 1. [N, H, K] -> [H, B, K]"""
    return segment_sum(a.flatten(1), segments).view(-1, *a.shape[1:]).transpose(0, 1)


def forward(call: Call, want_a: bool) -> list[Tensor]:
    """[*blocks of Aᵀ Z, Aᵀ 1, A, log Σ e^s where the kernels would keep it]"""
    blocks, m, c, segments, num_heads, axis, path = call
    z, zs = blocks[0], [wide(z) for z in blocks]
    scores = _scores(zs, wide(m), wide(c)).unflatten(1, (num_heads, -1))
    a = seed_softmax(scores, segments, axis).contiguous()
    found = (*collect_blocks(a, zs, segments), mass_of(a, segments).contiguous(), a)
    kept = lse_rows(path, axis, segments.num_graphs)
    return [*(t.to(z.dtype) for t in found), z.new_zeros(kept, m.shape[2], dtype=torch.float32)]


def _by_block(m: Tensor, blocks: list[Tensor]) -> tuple[Tensor, ...]:
    """Rows of m [R, D, ·] apart as the columns of Z are."""
    return m.split([z.shape[1] for z in blocks], dim=1)


def by_replica(rows: Tensor, R: int) -> Tensor:
    """[R·n, ·] -> [R, n, ·]"""
    return rows.unflatten(0, (R, rows.shape[0] // R))


def _scores(blocks: list[Tensor], m: Tensor, c: Tensor) -> Tensor:
    """Z M + c. [N, H·K]"""
    scores = c[:, None]
    for z, m_l in zip(blocks, _by_block(m, blocks), strict=True):
        if m.shape[0] == 1:
            scores = torch.addmm(scores[0], z, m_l[0])[None]
        else:
            scores = torch.baddbmm(scores, by_replica(z, m.shape[0]), m_l)
    return scores.flatten(0, 1)


def _dm(blocks: list[Tensor], ds: Tensor, R: int) -> Tensor:
    """Zᵀ ∂s of each replica. [R, D, H·K]"""
    if R == 1:
        return torch.cat([z.t() @ ds for z in blocks])[None]
    per_replica = by_replica(ds, R)
    return torch.cat([by_replica(z, R).mT @ per_replica for z in blocks], dim=1)


def backward(call: Call, kept: Kept, grads: Gradients) -> list[Tensor]:
    """[*∂z, ∂m, ∂c], with one buffer for each block of ∂z = A g + ∂s Mᵀ."""
    blocks, m, _, segments, _, axis, _ = call
    z, R = blocks[0], m.shape[0]
    zs, gs, a = [wide(z) for z in blocks], [wide(t) for t in grads.pooled], wide(kept.a)
    da = match_blocks(zs, gs, segments) + wide(grads.a)
    per_graph = wide(grads.mass).transpose(0, 1).flatten(1)  # [B, H·K]
    da += per_graph.index_select(0, segments.batch).view_as(da)
    ds = softmax_backward(a, da, segments, axis).flatten(1)  # [N, H·K]
    dz = spread_blocks(a, gs, segments)
    for dz_l, m_l in zip(dz, _by_block(wide(m), blocks), strict=True):
        by_replica(dz_l, R).baddbmm_(by_replica(ds, R), m_l.mT)
    dm, dc = _dm(zs, ds, R), by_replica(ds, R).sum(1)
    return [*(t.to(z.dtype) for t in dz), dm.to(m.dtype), dc.to(m.dtype)]


def differentiable_backward(call: Call, kept: Kept, grads: Gradients) -> list[Tensor]:
    """The same, of operators that can be differentiated."""
    blocks, m, c, segments, num_heads, axis, _ = call
    R, a = m.shape[0], kept.a
    is_kept = a.shape[0] == blocks[0].shape[0]
    if not is_kept:
        scores = _scores(blocks, m, c).unflatten(1, (num_heads, -1))
        a = seed_softmax(scores, segments, axis)
    da = segment_gather(grads.mass.transpose(0, 1).flatten(1), segments).view_as(a)
    if is_kept:
        da = da + grads.a
    for z, g in zip(blocks, grads.pooled, strict=True):
        da = da + match(z, g, segments)
    ds = softmax_backward(a, da, segments, axis).flatten(1)  # [N, H·K]
    dz = [
        spread(a, g, segments) + (by_replica(ds, R) @ m_l.mT).flatten(0, 1)
        for g, m_l in zip(grads.pooled, _by_block(m, blocks), strict=True)
    ]
    return [*dz, _dm(blocks, ds, R), by_replica(ds, R).sum(1)]
