"""Which implementation serves a seed attention: kernels for few slots, kernels on tiles, or
PyTorch's operators. Chosen once for a call, by device, precision and shapes, and then passed along.

A slot is one of the H·K scores of a node. Kernels for few slots (few_slots_parts.py) multiply and
add, and hold all of M; those on tiles (tiles_parts.py) use matrix units.
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from gmpool.ops import choice
from gmpool.ops.seed_attention.cuts import FewSlots, Tiles
from gmpool.ops.without_dispatcher import transformed

FEW_SLOTS, TILES, PYTORCH = "few slots", "tiles", "pytorch"
FEW_NODES = 2**15
"""Of a readout that takes a large GPU as long as starting its kernels."""


class Choice(NamedTuple):
    path: str  # FEW_SLOTS, TILES or PYTORCH
    heads: int  # that one call takes: all, or one after the other

    @property
    def is_fused(self) -> bool:
        """Whether there are kernels for it, which never write the N·H·K scores."""
        return self.path != PYTORCH

    def is_small(self, num_nodes: int) -> bool:
        """Whether a GPU would start the kernels for longer than they run."""
        return self.is_fused and num_nodes <= FEW_NODES and not transformed()


def choose(blocks: list[Tensor], num_heads: int, num_slots: int, axis: str) -> Choice:
    """blocks: Z as columns [N, D_l]"""
    if choice.triton_serves(blocks[0]):
        widths = [z.shape[1] for z in blocks]
        for heads in (num_heads, 1):
            shape = (widths, heads, num_slots * heads // num_heads, axis)
            if FewSlots.of(*shape):
                return Choice(FEW_SLOTS, heads)
            if Tiles.of(*shape):
                return Choice(TILES, heads)
    return Choice(PYTORCH, num_heads)


def lse_rows(path: str, axis: str, num_graphs: int) -> int:
    """Of how many graphs log Σ e^s is kept for the backward pass."""
    return num_graphs if path == TILES and axis == "nodes" else 0
