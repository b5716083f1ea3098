"""Seed attention on tiles on the GPU: what its two passes have in common.

Z is read in tiles of BD columns of one block. The H·K scores of a node are one row of S padded
slots: over seeds head h has the slots h·KP … h·KP + K - 1, so that a head is a power of two; over
nodes all H·K stand side by side. M and c are padded once, with zeros (cuts.py).
"""

# Triton reads a kernel's annotations itself, and is an optional package without types.
# mypy: allow-untyped-defs, disable-error-code="import-untyped, import-not-found"
from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from gmpool.ops.kernel_parts.chunks import Plan
from gmpool.ops.seed_attention.cuts import Tiles

WARPS_PER_SM = 16


def plan_of(tiles: Tiles, z: Tensor, num_graphs: int) -> Plan:
    return Plan.of(z.shape[0], num_graphs, tiles.chunk, z.device, WARPS_PER_SM // tiles.warps)


def launch_of(tiles: Tiles) -> dict[str, int]:
    return {"num_warps": tiles.warps, "num_stages": 1}


def offsets(widths: tuple[int, ...]) -> tuple[int, ...]:
    """Where each block of columns begins in Z."""
    return tuple(sum(widths[:i]) for i in range(len(widths)))


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
