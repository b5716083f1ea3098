"""How the fused seed attention is cut into tiles, and what its two passes have in common.

Z is read in tiles of BD columns of one block. The H·K scores of a node are one row of S padded
slots: over seeds head h has the slots h·KP … h·KP + K - 1, so that a head is a power of two; over
nodes all H·K stand side by side. M and c are padded once, with zeros.
"""

# Triton reads a kernel's annotations itself, and is an optional package without types.
# mypy: allow-untyped-defs, disable-error-code="import-untyped, import-not-found"
from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.nn.functional import pad

from gmpool.ops.triton_chunks import Plan

# As compiled for sm_90 with tf32x3: these spill no registers, or few with more than 32 slots, where
# a program also needs 8 warps; with 128 slots it would need more shared memory than there is.
CHUNK = 64  # nodes
MIN_BLOCK, FEW_SLOTS, MAX_SLOTS = 16, 32, 64  # a product of tiles needs 16 of each
COLUMNS, COLUMNS_MANY_SLOTS, COLUMNS_BACKWARD = 64, 32, 32
WARPS_PER_SM = 16
LAUNCH: dict[str, int] = {"num_stages": 1}
MAX_BLOCKS = 8  # of columns; the kernels are unrolled over them


class Tiles(NamedTuple):
    """Compile-time numbers of the kernels."""

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
            KP = triton.next_power_of_2(K)
            S = KP * triton.next_power_of_2(num_heads)
            KP, S = max(KP, KP * MIN_BLOCK // S), max(S, MIN_BLOCK)
        else:
            KP = S = max(MIN_BLOCK, triton.next_power_of_2(num_slots))
        if S > MAX_SLOTS or len(widths) > MAX_BLOCKS:
            return None
        few = S <= FEW_SLOTS
        widest = max(MIN_BLOCK, triton.next_power_of_2(max(widths)))
        BD = min(widest, COLUMNS if few else COLUMNS_MANY_SLOTS)
        back = min(widest, COLUMNS_BACKWARD)
        return cls(num_heads, K, KP, S, BD, back, CHUNK, 4 if few else 8)

    def plan(self, num_nodes: int, num_graphs: int, device: torch.device) -> Plan:
        return Plan.of(num_nodes, num_graphs, self.chunk, device, WARPS_PER_SM // self.warps)

    @property
    def launch(self) -> dict[str, int]:
        return {"num_warps": self.warps, **LAUNCH}

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


@triton.jit
def slot_table(
    H: tl.constexpr, K: tl.constexpr, KP: tl.constexpr, S: tl.constexpr, SEEDS: tl.constexpr
):
    """(head, seed, whether it is one of H·K) of each padded slot. [S]"""
    j = tl.arange(0, S)
    if SEEDS:
        h, k = j // KP, j % KP
        there = (h < H) & (k < K)
    else:
        h, k = j // K, j % K
        there = j < H * K
    return h, k, there


@triton.jit
def z_tile(z, node, inside, d, WIDTH: tl.constexpr, STRIDE: tl.constexpr):
    """Columns d of the rows of some nodes. [CH, BD]"""
    mask = inside[:, None] & (d < WIDTH)[None, :]
    at = z + node[:, None] * STRIDE + d[None, :]
    return tl.load(at, mask=mask, other=0.0).to(tl.float32)


@triton.jit
def m_tile(m, replica, OFFSET: tl.constexpr, d, WIDTH, D: tl.constexpr, S: tl.constexpr):
    """The rows of M that meet columns d of the block that begins at OFFSET. [BD, S]"""
    row = replica.to(tl.int64) * D + OFFSET + d
    at = m + row[:, None] * S + tl.arange(0, S)[None, :]
    return tl.load(at, mask=(d < WIDTH)[:, None], other=0.0)


@triton.jit
def graph_tile(o, graph, graphs, h, k, d, WIDTH: tl.constexpr, K: tl.constexpr):
    """Addresses of columns d of a graph's rows in o [H, graphs, K, WIDTH]. [BD, S]"""
    row = (h.to(tl.int64) * graphs + graph) * K + k
    return o + row[None, :] * WIDTH + d[:, None]


@triton.jit
def seeds_softmax(s, there, CH: tl.constexpr, S: tl.constexpr, KP: tl.constexpr):
    """Softmax of the scores over the seeds of each head; 0 at padded slots. [CH, S]"""
    s = tl.where(there[None, :], s, float("-inf")).reshape(CH, S // KP, KP)
    top = tl.max(s, 2)
    # A padded head has no score at all: -inf - 0 rather than -inf + inf.
    e = tl.exp(s - tl.where(top == float("-inf"), 0.0, top)[:, :, None])
    total = tl.sum(e, 2)
    return (e / tl.where(total == 0.0, 1.0, total)[:, :, None]).reshape(CH, S)


@triton.jit
def head_sums(w, CH: tl.constexpr, S: tl.constexpr, KP: tl.constexpr):
    """Σ over the seeds of each head, at each of them. [CH, S]"""
    total = tl.sum(w.reshape(CH, S // KP, KP), 2)
    return tl.broadcast_to(total[:, :, None], (CH, S // KP, KP)).reshape(CH, S)
