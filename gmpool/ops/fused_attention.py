"""Which kernels of the GPU do a seed attention: those for few slots, those on tiles, or none."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gmpool.ops import gpu


def tiles_for(blocks: list[Tensor], num_slots: int, num_heads: int, axis: str) -> Any:
    """How the kernels cut their work: triton_few_slots.FewSlots for few slots, else
    triton_tiles.Tiles, or None where neither can."""
    if not gpu.usable(blocks[0]):
        return None
    from gmpool.ops.triton_few_slots import FewSlots
    from gmpool.ops.triton_tiles import Tiles

    shape = ([z.shape[1] for z in blocks], num_heads, num_slots, axis)
    return FewSlots.of(*shape) or Tiles.of(*shape)


def heads_at_once(blocks: list[Tensor], num_heads: int, num_slots: int, axis: str) -> int:
    """How many heads one call of the kernels takes: all, or one, or none."""
    fits = (h for h in (num_heads, 1) if tiles_for(blocks, num_slots * h // num_heads, h, axis))
    return next(fits, 0)


def fused_forward(
    tiles: Any, blocks: list[Tensor], m: Tensor, c: Tensor, batch: Tensor, order: Tensor,
    ptr: Tensor, axis: str, want_a: bool,
) -> list[Tensor]:  # fmt: skip
    """[*blocks of Aᵀ Z, Aᵀ 1, A or nothing, log Σ e^s over nodes or nothing]"""
    from gmpool.ops import triton_attention, triton_few_slots

    if isinstance(tiles, triton_few_slots.FewSlots):
        outs, mass, a = triton_few_slots.forward(blocks, m, c, order, ptr, want_a, tiles)
        return [*outs, mass, a, mass.new_empty(0, m.shape[2], dtype=torch.float32)]
    index = (batch, order, ptr)
    outs, mass, a, lse = triton_attention.forward(blocks, m, c, *index, axis, want_a, tiles)
    return [*outs, mass, a, lse]


def fused_backward(
    tiles: Any, blocks: list[Tensor], m: Tensor, c: Tensor, g: list[Tensor], g_mass: Tensor,
    g_a: Tensor | None, lse: Tensor, pooled: list[Tensor], extra: Tensor | None, order: Tensor,
    ptr: Tensor, axis: str,
) -> tuple[list[Tensor], Tensor, Tensor]:  # fmt: skip
    """(∂z of each block, ∂M, ∂c), the latter two in float32; lse, pooled and extra are read over
    nodes (triton_attention_backward.py)."""
    from gmpool.ops import triton_attention_backward, triton_few_slots_backward
    from gmpool.ops.triton_few_slots import FewSlots

    if isinstance(tiles, FewSlots):
        return triton_few_slots_backward.backward(blocks, m, c, g, g_mass, g_a, order, ptr, tiles)
    return triton_attention_backward.backward(
        blocks, m, c, g, g_mass, g_a, lse, pooled, extra, order, ptr, axis, tiles
    )
