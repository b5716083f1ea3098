"""Seed attention over seeds on the GPU, for few slots: a warp a program, and no products of tiles.

A few slots H·K do not fill a matrix unit, and what counts is that Z comes from memory at full
speed. So a program is one warp that holds a few nodes with all their columns, and forms the scores
and Aᵀ Z by multiplying and adding, with many programs on a multiprocessor to wait for memory in
turn. One load of a warp covers G rows of BD columns, and CH nodes are CH / G such groups,
[CH/G, G, BD]. Sums over nodes stay apart for the rows of a group, [G, BD], and what meets every row
is read once for each of them, so that no lane needs another's until the sums are written. Which
nodes come next, and forward their rows as well, is asked for before the chunk at hand is worked on.

See triton_attention.py for the same with products of tiles, and triton_chunks.py for how nodes are
walked and parts of sums are merged.
"""

# Triton reads a kernel's annotations itself, and is an optional package without types. It knows
# tuples that grow by addition, and no lists.
# mypy: allow-untyped-defs, disable-error-code="import-untyped, import-not-found, assignment"
# ruff: noqa: RUF005
from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from gmpool.ops.gpu import on_device
from gmpool.ops.triton_chunks import (
    Plan,
    graph_after,
    graph_at,
    last_slot,
    merge_sums,
    nodes_at,
)
from gmpool.ops.triton_tiles import z_tile

MAX_SLOTS, MIN_COLUMNS, MAX_COLUMNS = 8, 16, 32
MAX_SUMS = 1024
"""Sums Aᵀ Z of a graph, H·K·D, of which a lane holds an eighth."""
LOADED = tl.constexpr(128)
"""Numbers that one load of a warp brings: four for each lane."""
PROGRAMS_PER_SM = 8
LAUNCH = {"num_warps": 1, "num_stages": 1}
FEW_SUMS, CHUNK, LONG_CHUNK = 512, 8, 16
"""A program that holds few sums has the registers for a long chunk."""
MANY_PARTS = {"rows": 512, "width": 16}
"""How parts are merged: a large graph has one of every program."""


class Pieces(NamedTuple):
    """Z cut into pieces of at most BD columns, and the same cut of what has its columns."""

    zs: tuple[Tensor, ...]
    widths: tuple[int, ...]
    offsets: tuple[int, ...]
    """Where each piece begins among the D columns."""
    strides: tuple[int, ...]
    rows: tuple[int, ...]
    """How wide the block is that each piece is a part of."""

    @classmethod
    def of(cls, blocks: list[Tensor], columns: int) -> Pieces:
        blocks = [z if z.stride(1) == 1 else z.contiguous() for z in blocks]
        zs = cls.cut(blocks, columns)
        widths = tuple(z.shape[1] for z in zs)
        offsets = tuple(sum(widths[:i]) for i in range(len(widths)))
        rows = tuple(z.shape[1] for z in blocks for _ in cls.cut([z], columns))
        return cls(zs, widths, offsets, tuple(z.stride(0) for z in zs), rows)

    @staticmethod
    def cut(blocks: list[Tensor], columns: int) -> tuple[Tensor, ...]:
        return tuple(piece for t in blocks if t.shape[-1] for piece in t.split(columns, dim=-1))


class FewSlots(NamedTuple):
    """Compile-time numbers of the kernels."""

    heads: int  # H
    seeds: int  # K
    columns: int  # BD
    sums: int  # H·K·D

    @classmethod
    def of(cls, widths: list[int], num_heads: int, num_slots: int, axis: str) -> FewSlots | None:
        """None where there is too much to hold."""
        widest = triton.next_power_of_2(max(widths, default=0))
        sums = num_slots * sum(widths)
        if axis != "seeds" or num_slots > MAX_SLOTS or not 0 < sums <= MAX_SUMS:
            return None
        BD = max(MIN_COLUMNS, min(widest, MAX_COLUMNS))
        return cls(num_heads, num_slots // num_heads, BD, sums)


@triton.jit
def no_sums(HK: tl.constexpr, NP: tl.constexpr, BD: tl.constexpr):
    """(H·K·NP of [G, BD], H·K of [G]), all zero: sums before the first node."""
    of_rows, of_numbers = (), ()
    for _j in tl.static_range(HK):
        of_numbers = of_numbers + (tl.zeros([LOADED // BD], tl.float32),)
        for _i in tl.static_range(NP):
            of_rows = of_rows + (tl.zeros([LOADED // BD, BD], tl.float32),)
    return of_rows, of_numbers


@triton.jit
def nodes_left(at, end, CH: tl.constexpr, BD: tl.constexpr):
    """Which nodes of a chunk the graph still has. [CH/G, G]"""
    G: tl.constexpr = LOADED // BD
    return at + G * tl.arange(0, CH // G)[:, None] + tl.arange(0, G)[None, :] < end


@triton.jit
def z_rows(
    zs, node, at, end, d, WIDTHS: tl.constexpr, STRIDES: tl.constexpr, CH: tl.constexpr,
    BD: tl.constexpr,
):  # fmt: skip
    """The rows of a chunk's nodes, zero for those the graph does not have. NP of [CH/G, G, BD]"""
    G: tl.constexpr = LOADED // BD
    inside = at + tl.arange(0, CH) < end
    z = ()
    for i in tl.static_range(len(WIDTHS)):
        tile = z_tile(zs[i], node, inside, d, WIDTHS[i], STRIDES[i])
        z = z + (tile.reshape(CH // G, G, BD),)
    return z


@triton.jit
def row_of(t, row, offset, d, WIDTH, D: tl.constexpr, BD: tl.constexpr):
    """Columns of one row of [..., D], once for each row of a group. [1, G, BD]"""
    across = tl.zeros([LOADED // BD, 1], tl.int32) + d[None, :]
    at = t + row.to(tl.int64) * D + offset + across
    return tl.load(at, mask=across < WIDTH, other=0.0).to(tl.float32)[None, :, :]


@triton.jit
def shares(s, inside, H: tl.constexpr, K: tl.constexpr):
    """Softmax over the seeds of each head; 0 for nodes that are not there. H·K of [CH/G, G]"""
    found = ()
    for h in tl.static_range(H):
        top = s[h * K]
        for k in tl.static_range(1, K):
            top = tl.maximum(top, s[h * K + k])
        parts = ()
        total = tl.zeros_like(top)
        for k in tl.static_range(K):
            part = tl.exp(s[h * K + k] - top)
            parts = parts + (part,)
            total += part
        share = tl.where(inside, 1.0 / total, 0.0)
        for k in tl.static_range(K):
            found = found + (parts[k] * share,)
    return found


@triton.jit
def scores(
    z, m, c, rows, d, OFFSETS: tl.constexpr, WIDTHS: tl.constexpr, D: tl.constexpr,
    HK: tl.constexpr, BD: tl.constexpr,
):  # fmt: skip
    """z · m_j + c_j of each node, for the H·K rows m_j of Mᵀ from `rows` on. H·K of [CH/G, G]"""
    found = ()
    for j in tl.static_range(HK):
        terms = z[0] * row_of(m, rows + j, 0, d, WIDTHS[0], D, BD)
        for i in tl.static_range(1, len(WIDTHS)):
            terms += z[i] * row_of(m, rows + j, OFFSETS[i], d, WIDTHS[i], D, BD)
        found = found + (tl.sum(terms, 2) + tl.load(c + rows + j),)
    return found


@triton.jit(do_not_specialize=["N", "B", "graphs_each", "slots", "run"])
def _forward(
    zs, m, c, order, ptr, outs, mass, a, sums, totals, N, B, graphs_each, slots, run,
    WIDTHS: tl.constexpr, OFFSETS: tl.constexpr, STRIDES: tl.constexpr, ROWS: tl.constexpr,
    NP: tl.constexpr, D: tl.constexpr, H: tl.constexpr, K: tl.constexpr, BD: tl.constexpr,
    CH: tl.constexpr, WANT_A: tl.constexpr,
):  # fmt: skip
    p, HK = tl.program_id(0), H * K
    first = p * run
    last = tl.minimum(first + run, slots)
    parts = 2 * tl.num_programs(0)
    d = tl.arange(0, BD)
    b = graph_at(ptr, B, first, CH)
    start, end = tl.load(ptr + b).to(tl.int64), tl.load(ptr + b + 1).to(tl.int64)
    at, node = nodes_at(order, start, b, first, N, CH)
    z = z_rows(zs, node, at, end, d, WIDTHS, STRIDES, CH, BD)
    next_b, next_start, next_end = graph_after(ptr, B, b, start, end, first + 1, CH)
    next_at, next_node = nodes_at(order, next_start, next_b, first + 1, N, CH)
    acc, total = no_sums(H * K, NP, BD)
    for slot in range(first, last):
        next_z = z_rows(zs, next_node, next_at, next_end, d, WIDTHS, STRIDES, CH, BD)
        far_b, far_start, far_end = graph_after(ptr, B, next_b, next_start, next_end, slot + 2, CH)
        far_at, far_node = nodes_at(order, far_start, far_b, slot + 2, N, CH)
        inside = at + tl.arange(0, CH) < end
        # An empty graph has one chunk without nodes, which writes zeros.
        if (at < end) | (start == end):
            rows = b // graphs_each * HK
            there = nodes_left(at, end, CH, BD)
            e = shares(scores(z, m, c, rows, d, OFFSETS, WIDTHS, D, H * K, BD), there, H, K)
            more, weight = (), ()
            for j in tl.static_range(H * K):
                if WANT_A:
                    of_node = e[j].reshape(CH).to(a.dtype.element_ty)
                    tl.store(a + node * HK + j, of_node, mask=inside)
                weight = weight + (total[j] + tl.sum(e[j], 0),)
                for i in tl.static_range(NP):
                    part = tl.sum(z[i] * e[j][:, :, None], 0)
                    more = more + (acc[j * NP + i] + part,)
            acc, total = more, weight
        final = last_slot(start, end, b, CH)
        if (slot == final) | ((slot < final) & (slot + 1 == last)):
            began = start // CH + b >= first
            side = 2 * p + began
            for j in tl.static_range(H * K):
                done = ((j // K) * B + b).to(tl.int64) * K + j % K
                waits = ((j // K) * parts + side).to(tl.int64) * K + j % K
                if began & (slot == final):
                    tl.store(mass + done, tl.sum(total[j], 0).to(mass.dtype.element_ty))
                    for i in tl.static_range(NP):
                        value = tl.sum(acc[j * NP + i], 0).to(mass.dtype.element_ty)
                        tl.store(outs[i] + done * ROWS[i] + d, value, mask=d < WIDTHS[i])
                else:
                    tl.store(totals + waits, tl.sum(total[j], 0))
                    for i in tl.static_range(NP):
                        at_sum = sums[i] + waits * ROWS[i] + d
                        tl.store(at_sum, tl.sum(acc[j * NP + i], 0), mask=d < WIDTHS[i])
            acc, total = no_sums(H * K, NP, BD)
        b, start, end, at, node, z = next_b, next_start, next_end, next_at, next_node, next_z
        next_b, next_start, next_end = far_b, far_start, far_end
        next_at, next_node = far_at, far_node


def forward(
    blocks: list[Tensor], m: Tensor, c: Tensor, order: Tensor, ptr: Tensor, want_a: bool,
    few: FewSlots,
) -> tuple[list[Tensor], Tensor, Tensor]:  # fmt: skip
    """(Aᵀ Z of each block, Aᵀ 1, A or nothing); blocks [N, D_l], m [R, D, H·K], c [R, H·K]"""
    z, (R, D, _), B = blocks[0], m.shape, ptr.shape[0] - 1
    N, H, K = z.shape[0], few.heads, few.seeds
    pieces = Pieces.of(blocks, few.columns)
    chunk = LONG_CHUNK if few.sums <= FEW_SUMS else CHUNK
    plan = Plan.of(N, B, chunk, z.device, PROGRAMS_PER_SM)
    outs = [z.new_empty(H, B, K, t.shape[1]) for t in blocks]
    mass, a = z.new_empty(H, B, K), z.new_empty(N if want_a else 0, H, K)
    totals = z.new_empty(H, 2 * plan.programs, K, dtype=torch.float32)
    sums = [totals.new_empty(*totals.shape, t.shape[1]) for t in blocks]
    with on_device(z):
        _forward[(plan.programs,)](
            pieces.zs, m.float().mT.contiguous(), c.float().contiguous(), order, ptr,
            Pieces.cut(outs, few.columns), mass, a, Pieces.cut(sums, few.columns), totals,
            N, B, B // R, plan.slots, plan.run,
            pieces.widths, pieces.offsets, pieces.strides, pieces.rows, len(pieces.zs), D,
            H, K, few.columns, plan.chunk, want_a, **LAUNCH,
        )  # fmt: skip
        merge_sums([totals, *sums], [mass, *outs], ptr, plan, **MANY_PARTS)
    return outs, mass, a
