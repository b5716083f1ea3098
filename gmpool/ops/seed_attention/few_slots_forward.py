"""Seed attention over seeds on the GPU, for few slots, forward, and what both passes are made of. A
warp is a program, and there are no products of tiles.

A few slots H·K do not fill a matrix unit, and what counts is that Z comes from memory at full
speed. So a program is one warp that multiplies and adds: it keeps the H·K rows of Mᵀ in registers,
and works on G nodes at a time, whose columns BD one load of the warp covers, [G, BD]. Sums over
nodes stay apart for the G rows until they are written, so that only the scores need what other
lanes have. BD is as small as registers allow, because lanes of one row have to add up. Which nodes
come next is asked for a chunk of CH nodes ahead, and their rows too: forward they wait in
registers, backward, where none are left, in the cache.

See tiles_forward.py for the same with products of tiles, and kernel_parts/chunks.py for how nodes
are walked and parts of sums are merged.
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

from gmpool.ops.kernel_parts.chunks import (
    Plan,
    graph_after,
    graph_at,
    last_chunk,
    merge_sums,
    place_of,
)
from gmpool.ops.kernel_parts.launch import on_device, rowwise
from gmpool.ops.seed_attention.choice import Call, FewSlots

LOADED = tl.constexpr(128)
"""Numbers that one load of a warp brings: four for each lane."""
PROGRAMS_PER_SM = 8
LAUNCH = {"num_warps": 1, "num_stages": 1}
ONCE = tl.constexpr("evict_first")
"""Rows are read once, and need not stay in the cache."""


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
        blocks = [rowwise(z) for z in blocks]
        zs = cls.cut(blocks, columns)
        widths = tuple(z.shape[1] for z in zs)
        offsets = tuple(sum(widths[:i]) for i in range(len(widths)))
        rows = tuple(z.shape[1] for z in blocks for _ in cls.cut([z], columns))
        return cls(zs, widths, offsets, tuple(z.stride(0) for z in zs), rows)

    @staticmethod
    def cut(blocks: list[Tensor], columns: int) -> tuple[Tensor, ...]:
        return tuple(piece for t in blocks if t.shape[-1] for piece in t.split(columns, dim=-1))


def plan_of(few: FewSlots, z: Tensor, num_graphs: int, chunk: int) -> Plan:
    """Chunks hold at least one group of rows."""
    chunk = max(chunk, LOADED.value // few.columns)
    return Plan.of(z.shape[0], num_graphs, chunk, z.device, PROGRAMS_PER_SM)


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
def group_nodes(order, at, N, CH: tl.constexpr, BD: tl.constexpr):
    """The nodes of a chunk, a group at a time. CH/G of [G]"""
    G: tl.constexpr = LOADED // BD
    found = ()
    for g in tl.static_range(CH // G):
        place = at + g * G + tl.arange(0, G)
        found = found + (tl.load(order + place, mask=place < N, other=0).to(tl.int64),)
    return found


@triton.jit
def z_rows(
    zs, node, at, end, d, WIDTHS: tl.constexpr, STRIDES: tl.constexpr, CH: tl.constexpr,
    BD: tl.constexpr,
):  # fmt: skip
    """The rows of a chunk's nodes, zero for those the graph does not have. CH/G·NP of [G, BD]"""
    G: tl.constexpr = LOADED // BD
    z = ()
    for g in tl.static_range(CH // G):
        inside = at + g * G + tl.arange(0, G) < end
        for i in tl.static_range(len(WIDTHS)):
            mask = inside[:, None] & (d < WIDTHS[i])[None, :]
            rows = zs[i] + node[g][:, None] * STRIDES[i] + d[None, :]
            z = z + (tl.load(rows, mask=mask, other=0.0, eviction_policy=ONCE).to(tl.float32),)
    return z


@triton.jit
def row_of(t, row, offset, d, WIDTH, D: tl.constexpr, BD: tl.constexpr):
    """Columns of one row of [..., D], once for each row of a group. [G, BD]"""
    across = tl.zeros([LOADED // BD, 1], tl.int32) + d[None, :]
    at = t + row.to(tl.int64) * D + offset + across
    return tl.load(at, mask=across < WIDTH, other=0.0).to(tl.float32)


@triton.jit
def seeds_of(
    m, c, replica, d, OFFSETS: tl.constexpr, WIDTHS: tl.constexpr, D: tl.constexpr,
    HK: tl.constexpr, BD: tl.constexpr,
):  # fmt: skip
    """(rows of a replica's Mᵀ, its c): H·K·NP of [G, BD], H·K numbers"""
    rows, biases = (), ()
    for j in tl.static_range(HK):
        biases = biases + (tl.load(c + replica * HK + j),)
        for i in tl.static_range(len(WIDTHS)):
            rows = rows + (row_of(m, replica * HK + j, OFFSETS[i], d, WIDTHS[i], D, BD),)
    return rows, biases


@triton.jit
def products(z, rows, plus, g: tl.constexpr, NP: tl.constexpr, HK: tl.constexpr):
    """Each of H·K rows with the nodes of group g, and a number added to it. H·K of [G]"""
    found = ()
    for j in tl.static_range(HK):
        terms = z[g * NP] * rows[j * NP]
        for i in tl.static_range(1, NP):
            terms += z[g * NP + i] * rows[j * NP + i]
        found = found + (tl.sum(terms, 1) + plus[j],)
    return found


@triton.jit
def shares(s, inside, H: tl.constexpr, K: tl.constexpr):
    """Softmax over the seeds of each head; 0 for nodes that are not there. H·K of [G]"""
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
def add_rows(
    of_rows, of_numbers, z, by, g: tl.constexpr, NP: tl.constexpr, HK: tl.constexpr
):  # fmt: skip
    """Sums with the rows of group g added, each multiplied by its node's number."""
    more_rows, more_numbers = (), ()
    for j in tl.static_range(HK):
        more_numbers = more_numbers + (of_numbers[j] + by[j],)
        for i in tl.static_range(NP):
            more_rows = more_rows + (of_rows[j * NP + i] + z[g * NP + i] * by[j][:, None],)
    return more_rows, more_numbers


CHUNK = 8  # nodes


@triton.jit(do_not_specialize=["N", "B", "graphs_each", "chunks", "run"])
def seed_attention_few_slots_forward(
    zs, m, c, order, ptr, outs, mass, a, sums, totals, N, B, graphs_each, chunks, run,
    WIDTHS: tl.constexpr, OFFSETS: tl.constexpr, STRIDES: tl.constexpr, ROWS: tl.constexpr,
    NP: tl.constexpr, D: tl.constexpr, H: tl.constexpr, K: tl.constexpr, BD: tl.constexpr,
    CH: tl.constexpr, WANT_A: tl.constexpr,
):  # fmt: skip
    p, HK = tl.program_id(0), H * K
    G: tl.constexpr = LOADED // BD
    first = p * run
    last = tl.minimum(first + run, chunks)
    parts = 2 * tl.num_programs(0)
    d = tl.arange(0, BD)
    b = graph_at(ptr, B, first, CH)
    start, end = tl.load(ptr + b).to(tl.int64), tl.load(ptr + b + 1).to(tl.int64)
    at = place_of(start, b, first, CH)
    node = group_nodes(order, at, N, CH, BD)
    z = z_rows(zs, node, at, end, d, WIDTHS, STRIDES, CH, BD)
    next_b, next_start, next_end = graph_after(ptr, B, b, start, end, first + 1, CH)
    next_at = place_of(next_start, next_b, first + 1, CH)
    next_node = group_nodes(order, next_at, N, CH, BD)
    seeds, biases = seeds_of(m, c, b // graphs_each, d, OFFSETS, WIDTHS, D, H * K, BD)
    acc, total = no_sums(H * K, NP, BD)
    for chunk in range(first, last):
        next_z = z_rows(zs, next_node, next_at, next_end, d, WIDTHS, STRIDES, CH, BD)
        far_b, far_start, far_end = graph_after(ptr, B, next_b, next_start, next_end, chunk + 2, CH)
        far_at = place_of(far_start, far_b, chunk + 2, CH)
        far_node = group_nodes(order, far_at, N, CH, BD)
        if at < end:
            for g in tl.static_range(CH // G):
                there = at + g * G + tl.arange(0, G) < end
                e = shares(products(z, seeds, biases, g, NP, H * K), there, H, K)
                if WANT_A:
                    for j in tl.static_range(H * K):
                        tl.store(a + node[g] * HK + j, e[j].to(a.dtype.element_ty), mask=there)
                acc, total = add_rows(acc, total, z, e, g, NP, H * K)
        final = last_chunk(start, end, b, CH)
        if (chunk == final) | ((chunk < final) & (chunk + 1 == last)):
            began = start // CH + b >= first
            side = 2 * p + began
            for j in tl.static_range(H * K):
                done = ((j // K) * B + b).to(tl.int64) * K + j % K
                waits = ((j // K) * parts + side).to(tl.int64) * K + j % K
                if began & (chunk == final):
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
        replica = next_b // graphs_each
        if (replica != b // graphs_each) & (next_b < B):
            seeds, biases = seeds_of(m, c, replica, d, OFFSETS, WIDTHS, D, H * K, BD)
        b, start, end, at, node, z = next_b, next_start, next_end, next_at, next_node, next_z
        next_b, next_start, next_end = far_b, far_start, far_end
        next_at, next_node = far_at, far_node


def forward(call: Call, want_a: bool) -> list[Tensor]:
    """[*blocks of Aᵀ Z, Aᵀ 1, A or nothing, nothing]"""
    (blocks, m, c, segments, *_), few = call, FewSlots.of(*call.shape)
    assert few is not None
    z, (R, D, _), B = blocks[0], m.shape, segments.num_graphs
    order, ptr = segments.order, segments.ptr
    N, H, K = z.shape[0], few.heads, few.seeds
    pieces = Pieces.of(blocks, few.columns)
    plan = plan_of(few, z, B, CHUNK)
    outs = [z.new_empty(H, B, K, t.shape[1]) for t in blocks]
    mass, a = z.new_empty(H, B, K), z.new_empty(N if want_a else 0, H, K)
    totals = z.new_empty(H, 2 * plan.programs, K, dtype=torch.float32)
    sums = [totals.new_empty(*totals.shape, t.shape[1]) for t in blocks]
    with on_device(z):
        seed_attention_few_slots_forward[(plan.programs,)](
            pieces.zs, m.float().mT.contiguous(), c.float().contiguous(), order, ptr,
            Pieces.cut(outs, few.columns), mass, a, Pieces.cut(sums, few.columns), totals,
            N, B, B // R, plan.chunks, plan.run,
            pieces.widths, pieces.offsets, pieces.strides, pieces.rows, len(pieces.zs), D,
            H, K, few.columns, plan.chunk_size, want_a, **LAUNCH,
        )  # fmt: skip
        merge_sums([totals, *sums], [mass, *outs], ptr, plan)
    return [*outs, mass, a, totals.new_empty(0, H * K)]
