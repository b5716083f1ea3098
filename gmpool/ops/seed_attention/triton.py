"""Seed attention by kernels: those for few slots, or those on tiles."""

from __future__ import annotations

import torch
from torch import Tensor

import gmpool.ops.seed_attention.few_slots_backward as few_slots_backward
import gmpool.ops.seed_attention.few_slots_forward as few_slots_forward
import gmpool.ops.seed_attention.tiles_backward as tiles_backward
import gmpool.ops.seed_attention.tiles_forward as tiles_forward
from gmpool.ops.seed_attention.choice import FEW_SLOTS
from gmpool.ops.seed_attention.cuts import FewSlots, Tiles
from gmpool.ops.segment import Segments, segment_sum
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
    """[*blocks of Aᵀ Z, Aᵀ 1, A or nothing, log Σ e^s over nodes or nothing]"""
    shape = ([z.shape[1] for z in blocks], num_heads, m.shape[2], axis)
    if path == FEW_SLOTS:
        few = FewSlots.of(*shape)
        assert few is not None
        outs, mass, a = few_slots_forward.forward(blocks, m, c, segments, want_a, few)
        return [*outs, mass, a, mass.new_empty(0, m.shape[2], dtype=torch.float32)]
    tiles = Tiles.of(*shape)
    assert tiles is not None
    outs, mass, a, lse = tiles_forward.forward(blocks, m, c, segments, axis, want_a, tiles)
    return [*outs, mass, a, lse]


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
    """[*∂z, ∂m, ∂c]; lse and pooled are read over nodes."""
    shape = ([z.shape[1] for z in blocks], g_mass.shape[0], m.shape[2], axis)
    of_a = g_a if g_a.shape[0] else None
    if path == FEW_SLOTS:
        few = FewSlots.of(*shape)
        assert few is not None
        dz, dm, dc = few_slots_backward.backward(blocks, m, c, g, g_mass, of_a, segments, few)
    else:
        tiles = Tiles.of(*shape)
        assert tiles is not None
        extra = None
        if of_a is not None and axis == "nodes":
            extra = segment_sum((wide(a) * wide(g_a)).flatten(1), segments)
        grads = (g, g_mass, of_a, lse, pooled, extra)
        dz, dm, dc = tiles_backward.backward(blocks, m, c, *grads, segments, axis, tiles)
    return [*dz, dm.to(m.dtype), dc.to(m.dtype)]
