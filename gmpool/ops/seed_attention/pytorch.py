"""Seed attention by PyTorch's operators, forward and backward; see operator.py.

A gradient that will itself be differentiated is composed of operators that can be.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gmpool.ops.grouped import collect_blocks, match, match_blocks, spread, spread_blocks
from gmpool.ops.seed_attention.choice import lse_rows
from gmpool.ops.seed_attention.softmax import mass_of, seed_softmax, softmax_backward
from gmpool.ops.segment import Segments, segment_gather
from gmpool.ops.wide import wide


def forward(
    blocks: list[Tensor],
    m: Tensor,
    c: Tensor,
    segments: Segments,
    num_heads: int,
    axis: str,
    want_a: bool,
    path: str,
) -> list[Tensor]:
    """[*blocks of Aᵀ Z, Aᵀ 1, A, log Σ e^s where the kernels would keep it]"""
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


def backward(
    blocks: list[Tensor],
    m: Tensor,
    c: Tensor,
    a: Tensor,
    pooled: list[Tensor],
    lse: Tensor,
    g: list[Tensor],
    g_mass: Tensor,
    g_a: Tensor,
    segments: Segments,
    axis: str,
    path: str,
) -> list[Tensor]:
    """[*∂z, ∂m, ∂c], with one buffer for each block of ∂z = A g + ∂s Mᵀ."""
    z, R = blocks[0], m.shape[0]
    zs, gs, a_ = [wide(z) for z in blocks], [wide(t) for t in g], wide(a)
    da = match_blocks(zs, gs, segments) + wide(g_a)
    per_graph = wide(g_mass).transpose(0, 1).flatten(1)  # [B, H·K]
    da += per_graph.index_select(0, segments.batch).view_as(da)
    ds = softmax_backward(a_, da, segments, axis).flatten(1)  # [N, H·K]
    dz = spread_blocks(a_, gs, segments)
    for dz_l, m_l in zip(dz, _by_block(wide(m), blocks), strict=True):
        by_replica(dz_l, R).baddbmm_(by_replica(ds, R), m_l.mT)
    dm, dc = _dm(zs, ds, R), by_replica(ds, R).sum(1)
    return [*(t.to(z.dtype) for t in dz), dm.to(m.dtype), dc.to(m.dtype)]


def differentiable_backward(
    blocks: list[Tensor],
    m: Tensor,
    c: Tensor,
    a: Tensor,
    pooled: list[Tensor],
    lse: Tensor,
    g: list[Tensor],
    g_mass: Tensor,
    g_a: Tensor,
    batch: Tensor,
    order: Tensor,
    ptr: Tensor,
    axis: str,
    path: str,
) -> list[Tensor]:
    """The same, of operators that can be differentiated."""
    segments, R = Segments(batch, order, ptr), m.shape[0]
    kept = a.shape[0] == batch.shape[0]
    if not kept:
        scores = _scores(blocks, m, c).unflatten(1, (g_mass.shape[0], -1))
        a = seed_softmax(scores, segments, axis)
    da = segment_gather(g_mass.transpose(0, 1).flatten(1), segments).view_as(a)
    if kept:
        da = da + g_a
    for z, g_l in zip(blocks, g, strict=True):
        da = da + match(z, g_l, segments)
    ds = softmax_backward(a, da, segments, axis).flatten(1)  # [N, H·K]
    dz = [
        spread(a, g_l, segments) + (by_replica(ds, R) @ m_l.mT).flatten(0, 1)
        for g_l, m_l in zip(g, _by_block(m, blocks), strict=True)
    ]
    return [*dz, _dm(blocks, ds, R), by_replica(ds, R).sum(1)]
