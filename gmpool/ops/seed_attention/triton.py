"""Seed attention by kernels: those for few slots, or those on tiles."""

from torch import Tensor

import gmpool.ops.seed_attention.few_slots_backward as few_slots_backward
import gmpool.ops.seed_attention.few_slots_forward as few_slots_forward
import gmpool.ops.seed_attention.tiles_backward as tiles_backward
import gmpool.ops.seed_attention.tiles_forward as tiles_forward
from gmpool.ops.seed_attention.choice import FEW_SLOTS, Call, Gradients, Kept


def forward(call: Call, want_a: bool) -> list[Tensor]:
    """[*blocks of Aᵀ Z, Aᵀ 1, A or nothing, log Σ e^s over nodes or nothing]"""
    if call.path == FEW_SLOTS:
        return few_slots_forward.forward(call, want_a)
    return tiles_forward.forward(call, want_a)


def backward(call: Call, kept: Kept, grads: Gradients) -> list[Tensor]:
    """[*∂z, ∂m, ∂c]"""
    if call.path == FEW_SLOTS:
        return few_slots_backward.backward(call, grads)
    return tiles_backward.backward(call, kept, grads)
