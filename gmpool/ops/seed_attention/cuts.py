"""How the kernels cut their work, and for which shapes they serve: numbers alone."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor
from torch.nn.functional import pad

MAX_FEW_SLOTS, MAX_HELD = 8, 16
"""Slots, and pieces [1, BD] of Mᵀ that a program for few slots holds: four numbers in each lane."""
COLUMNS_FEW_SLOTS = (16, 32, 64, 128)

# As compiled for sm_90 with tf32x3: these spill no registers, or few with more than 32 slots, where
# a program also needs 8 warps; with 128 slots it would need more shared memory than there is.
CHUNK = 64  # nodes
MIN_BLOCK, SOME_SLOTS, MAX_SLOTS = 16, 32, 64  # a product of tiles needs 16 of each
COLUMNS, COLUMNS_MANY_SLOTS, COLUMNS_BACKWARD = 64, 32, 32
MAX_BLOCKS = 8  # of columns; the kernels are unrolled over them


def _power_of_2(n: int) -> int:
    """The next one."""
    return 1 << max(n - 1, 0).bit_length()


class FewSlots(NamedTuple):
    """Compile-time numbers of the kernels for few slots."""

    heads: int  # H
    seeds: int  # K
    columns: int  # BD

    @classmethod
    def of(cls, widths: list[int], num_heads: int, num_slots: int, axis: str) -> FewSlots | None:
        """None where there is too much to hold; else as few columns as can be, for short sums."""
        if axis != "seeds" or num_slots > MAX_FEW_SLOTS:
            return None
        widest = _power_of_2(max(*widths, COLUMNS_FEW_SLOTS[0]))
        for columns in COLUMNS_FEW_SLOTS:
            held = num_slots * sum(-(-width // columns) for width in widths)
            if columns <= widest and 0 < held <= MAX_HELD:
                return cls(num_heads, num_slots // num_heads, columns)
        return None


class Tiles(NamedTuple):
    """Compile-time numbers of the kernels on tiles."""

    heads: int  # H
    seeds: int  # K
    head: int  # KP
    slots: int  # S
    width: int  # BD
    width_back: int  # BD of the backward pass
    chunk: int  # CH
    warps: int

    @classmethod
    def of(cls, widths: list[int], num_heads: int, num_slots: int, axis: str) -> Tiles | None:
        """None where the kernels would not pay: too many slots for the registers."""
        K = num_slots // num_heads
        if axis == "seeds":
            KP = _power_of_2(K)
            S = KP * _power_of_2(num_heads)
            KP, S = max(KP, KP * MIN_BLOCK // S), max(S, MIN_BLOCK)
        else:
            KP = S = max(MIN_BLOCK, _power_of_2(num_slots))
        if S > MAX_SLOTS or len(widths) > MAX_BLOCKS:
            return None
        some = S <= SOME_SLOTS
        widest = max(MIN_BLOCK, _power_of_2(max(widths)))
        BD = min(widest, COLUMNS if some else COLUMNS_MANY_SLOTS)
        back = min(widest, COLUMNS_BACKWARD)
        return cls(num_heads, K, KP, S, BD, back, CHUNK, 4 if some else 8)

    def padded(self, m: Tensor, axis: str) -> Tensor:
        """[..., H·K] -> [..., S], in float32"""
        m = m.float()
        if axis == "nodes":
            return pad(m, (0, self.slots - m.shape[-1])).contiguous()
        short = (0, self.head - self.seeds, 0, self.slots // self.head - self.heads)
        return pad(m.unflatten(-1, (self.heads, self.seeds)), short).flatten(-2).contiguous()

    def unpadded(self, m: Tensor, axis: str) -> Tensor:
        """[..., S] -> [..., H·K]"""
        if axis == "nodes":
            return m[..., : self.heads * self.seeds]
        heads = m.unflatten(-1, (-1, self.head))
        return heads[..., : self.heads, : self.seeds].flatten(-2)
