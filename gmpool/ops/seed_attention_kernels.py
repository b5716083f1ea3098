"""What one call of seed attention computes, forward and backward; see seed_attention.py.

Each is a function of plain tensors: Triton's kernels where there are any, else PyTorch's operators.
A gradient that will itself be differentiated is composed of operators that can be.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gmpool.ops.fused_attention import fused_backward, fused_forward, tiles_for
from gmpool.ops.grouped import collect_kernel, match, match_kernel, spread, spread_kernel
from gmpool.ops.seed_softmax import mass_of, seed_softmax, softmax_backward
from gmpool.ops.segment import Segments, segment_gather, segment_sum
from gmpool.ops.sparse import wide


def attend_kernel(
    blocks: list[Tensor],
    m: Tensor,
    c: Tensor,
    batch: Tensor,
    order: Tensor,
    ptr: Tensor,
    num_heads: int,
    axis: str,
    want_a: bool,
) -> list[Tensor]:
    """[*blocks of Aᵀ Z, Aᵀ 1, A, log Σ e^s]; the last is for the kernels' backward over nodes."""
    segments, z, HK = Segments(batch, order, ptr), blocks[0], m.shape[2]
    tiles = tiles_for(blocks, HK, num_heads, axis)
    if tiles is not None and z.shape[0]:
        return fused_forward(tiles, blocks, m, c, batch, order, ptr, axis, want_a)
    zs = [wide(z) for z in blocks]
    scores = _scores(zs, wide(m), wide(c)).unflatten(1, (num_heads, -1))
    a = seed_softmax(scores, segments, axis).contiguous()
    pooled = collect_kernel(a, zs, order, ptr)
    lse = z.new_zeros(*lse_shape(tiles, m, ptr, axis), dtype=torch.float32)
    return [*(t.to(z.dtype) for t in (*pooled, mass_of(a, segments).contiguous(), a)), lse]


def lse_shape(tiles: Any, m: Tensor, ptr: Tensor, axis: str) -> tuple[int, int]:
    return 0 if tiles is None or axis == "seeds" else ptr.shape[0] - 1, m.shape[2]


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


def backward_kernel(
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
) -> list[Tensor]:
    """[*∂z, ∂m, ∂c], with one buffer for each block of ∂z = A g + ∂s Mᵀ."""
    segments, z, R = Segments(batch, order, ptr), blocks[0], m.shape[0]
    tiles = tiles_for(blocks, m.shape[2], g_mass.shape[0], axis)
    if tiles is not None and z.shape[0]:
        of_a = g_a if g_a.shape[0] else None
        extra = None
        if of_a is not None and axis == "nodes":
            extra = segment_sum((wide(a) * wide(g_a)).flatten(1), segments)
        grads = (g, g_mass, of_a, lse, pooled, extra)
        dz, dm, dc = fused_backward(tiles, blocks, m, c, *grads, order, ptr, axis)
        return [*dz, dm.to(m.dtype), dc.to(m.dtype)]
    zs, gs, a_ = [wide(z) for z in blocks], [wide(t) for t in g], wide(a)
    da = match_kernel(zs, gs, batch, order, ptr) + wide(g_a)
    per_graph = wide(g_mass).transpose(0, 1).flatten(1)  # [B, H·K]
    da += per_graph.index_select(0, batch).view_as(da)
    ds = softmax_backward(a_, da, segments, axis).flatten(1)  # [N, H·K]
    dz = spread_kernel(a_, gs, batch, order, ptr)
    for dz_l, m_l in zip(dz, _by_block(wide(m), blocks), strict=True):
        by_replica(dz_l, R).baddbmm_(by_replica(ds, R), m_l.mT)
    dm, dc = _dm(zs, ds, R), by_replica(ds, R).sum(1)
    return [*(t.to(z.dtype) for t in dz), dm.to(m.dtype), dc.to(m.dtype)]


def backward_composed(
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
) -> list[Tensor]:
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
