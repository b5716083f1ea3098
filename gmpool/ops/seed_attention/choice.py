"""Which implementation serves a seed attention: kernels for few slots, kernels on tiles, or
PyTorch's operators. Chosen once for a call, by device, precision and shapes, and then passed along.

A slot is one of the H·K scores of a node. Kernels for few slots (few_slots_forward.py) multiply and
add, and hold all of M; those on tiles (tiles_forward.py) use matrix units.
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor
from torch.nn.functional import pad

from gmpool.ops import choice
from gmpool.ops.segment import Segments
from gmpool.ops.without_dispatcher import transformed

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


class Call(NamedTuple):
    blocks: list[Tensor]  # Z as columns [N, D_l]
    m: Tensor  # [R, D, H·K]
    c: Tensor  # [R, H·K]
    segments: Segments  # graph b belongs to replica b // (B/R)
    num_heads: int
    axis: str
    path: str

    @property
    def shape(self) -> tuple[list[int], int, int, str]:
        """What kernels are cut to: widths, H, H·K and the axis of the softmax."""
        return [z.shape[1] for z in self.blocks], self.num_heads, self.m.shape[2], self.axis


class Kept(NamedTuple):
    """What the forward pass leaves for the backward one."""

    a: Tensor  # [N, H, K], or nothing where kernels make it again
    pooled: list[Tensor]  # Aᵀ Z, and
    lse: Tensor  # log Σ e^s [B, H·K], both for kernels over nodes


class Gradients(NamedTuple):
    """Of what the forward pass returned."""

    pooled: list[Tensor]  # [H, B, K, D_l]
    mass: Tensor  # [H, B, K]
    a: Tensor  # [N, H, K], or nothing where A was not returned


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
