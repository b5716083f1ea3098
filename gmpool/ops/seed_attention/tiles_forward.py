"""Seed attention on tiles on the GPU, forward: scores, softmax and Aᵀ Z in one pass over Z.

See operator.py for what it means and kernel_parts/chunks.py for how nodes are walked. For each
chunk the scores are Z M, summed over tiles of columns; then each tile, still in the cache, gives
its part of Aᵀ Z. A graph of one chunk is written at once; of several, what was summed so far waits
in `sums`. Over nodes the sums are Σ e^{s - top} z and Σ e^{s - top} with the largest score `top` so
far, and are scaled down when a larger one comes.

Both passes read Z in tiles of BD columns of one block. The H·K scores of a node are one row of S
padded slots: over seeds head h has the slots h·KP … h·KP + K - 1, so that a head is a power of two;
over nodes all H·K stand side by side. M and c are padded once, with zeros (choice.py).
"""

# Triton reads a kernel's annotations itself, and is an optional package without types.
# mypy: allow-untyped-defs, disable-error-code="import-untyped, import-not-found"
from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from gmpool.ops.kernel_parts.chunks import (
    MERGE_ROWS,
    MERGE_WIDTH,
    Plan,
    chunk_at,
    cut_rows,
    first_chunk,
    graph_at,
    last_chunk,
)
from gmpool.ops.kernel_parts.launch import on_device, precision, rowwise
from gmpool.ops.seed_attention.choice import Call, Tiles

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


@triton.jit(do_not_specialize=["B", "graphs_each", "chunks", "run", "parts"])
def seed_attention_tiles_forward(
    zs, m, c, order, ptr, outs, mass, lse, a, sums, totals, tops,
    B, graphs_each, chunks, run, parts,
    WIDTHS: tl.constexpr, OFFSETS: tl.constexpr, STRIDES: tl.constexpr, NB: tl.constexpr,
    D: tl.constexpr, H: tl.constexpr, K: tl.constexpr, KP: tl.constexpr, S: tl.constexpr,
    BD: tl.constexpr, CH: tl.constexpr, SEEDS: tl.constexpr, WANT_A: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    p = tl.program_id(0)
    first = p * run
    last = tl.minimum(first + run, chunks)
    h, k, there = slot_table(H, K, KP, S, SEEDS)
    b = graph_at(ptr, B, first, CH)
    total = tl.zeros([S], tl.float32)
    top = tl.full([S], float("-inf"), tl.float32)
    for chunk in range(first, last):
        b += (chunk >= first_chunk(ptr, b + 1, CH)).to(tl.int32)
        start, end, at, node, inside = chunk_at(ptr, order, b, chunk, CH)
        # An empty graph has one chunk without nodes, which writes zeros.
        if (at < end) | (start == end):
            fresh = (at == start) | (chunk == first)
            began = start // CH + b >= first
            closes = began & (chunk == last_chunk(start, end, b, CH))
            replica = b // graphs_each
            s = tl.zeros([CH, S], tl.float32)
            for i in tl.static_range(NB):
                for tile in range(tl.cdiv(WIDTHS[i], BD)):
                    d = tile * BD + tl.arange(0, BD)
                    z = z_tile(zs[i], node, inside, d, WIDTHS[i], STRIDES[i])
                    weight = m_tile(m, replica, OFFSETS[i], d, WIDTHS[i], D, S)
                    s += tl.dot(z, weight, input_precision=PRECISION)
            s += tl.load(c + replica * S + tl.arange(0, S))[None, :]
            counted = inside[:, None] & there[None, :]
            if WANT_A and not SEEDS:
                tl.store(a + node[:, None] * (H * K) + (h * K + k)[None, :], s, mask=counted)
            total = tl.where(fresh, 0.0, total)
            if SEEDS:
                e = tl.where(counted, seeds_softmax(s, there, CH, S, KP), 0.0)
                scale = tl.full([S], 1.0, tl.float32)
                if WANT_A:
                    at_a = a + node[:, None] * (H * K) + (h * K + k)[None, :]
                    tl.store(at_a, e.to(a.dtype.element_ty), mask=counted)
            else:
                s = tl.where(counted, s, float("-inf"))
                top = tl.where(fresh, float("-inf"), top)
                higher = tl.maximum(top, tl.max(s, 0))
                # Without any score yet: e^{-inf - 0} rather than e^{-inf + inf}.
                level = tl.where(higher == float("-inf"), 0.0, higher)
                e = tl.exp(s - level[None, :])
                scale = tl.exp(top - level)
                top = higher
            total = total * scale + tl.sum(e, 0)
            over = tl.where((total == 0.0) | SEEDS, 1.0, total)
            side = 2 * p + began
            # What this program wrote to `sums` for the last chunk is read by other threads here.
            tl.debug_barrier()
            for i in tl.static_range(NB):
                for tile in range(tl.cdiv(WIDTHS[i], BD)):
                    d = tile * BD + tl.arange(0, BD)
                    z = z_tile(zs[i], node, inside, d, WIDTHS[i], STRIDES[i])
                    mask = (d < WIDTHS[i])[:, None] & there[None, :]
                    waits = graph_tile(sums[i], side, parts, h, k, d, WIDTHS[i], K)
                    so_far = tl.load(waits, mask=mask & ~fresh, other=0.0)
                    acc = tl.dot(tl.trans(z), e, input_precision=PRECISION)
                    acc += so_far * scale[None, :]
                    done = graph_tile(outs[i], b, B, h, k, d, WIDTHS[i], K)
                    value = (acc / over[None, :]).to(mass.dtype.element_ty)
                    tl.store(done, value, mask=mask & closes)
                    tl.store(waits, acc, mask=mask & ~closes)
            if closes:
                weighed = total if SEEDS else (total > 0.0).to(tl.float32)
                at_mass = mass + (h.to(tl.int64) * B + b) * K + k
                tl.store(at_mass, weighed.to(mass.dtype.element_ty), mask=there)
                if not SEEDS:
                    at_lse = lse + b.to(tl.int64) * (H * K) + h * K + k
                    tl.store(at_lse, top + tl.log(over), mask=there)
            else:
                tl.store(totals + side * (H * K) + h * K + k, total, mask=there)
                if not SEEDS:
                    tl.store(tops + side * (H * K) + h * K + k, top, mask=there)


@triton.jit(do_not_specialize=["B", "run", "parts"])
def seed_attention_tiles_merge(
    outs, mass, lse, sums, totals, tops, ptr, B, run, parts,
    WIDTHS: tl.constexpr, NB: tl.constexpr, H: tl.constexpr, K: tl.constexpr, CH: tl.constexpr,
    SEEDS: tl.constexpr, BY_GROUP: tl.constexpr, ROWS: tl.constexpr, BW: tl.constexpr,
):  # fmt: skip
    """The graphs that borders of runs cut: one slot (h, k) and one block of columns each."""
    hk = tl.program_id(1)
    b, p, count = cut_rows(ptr, B, 1, run, CH, BY_GROUP)
    if count > 0:
        top = tl.full([ROWS], float("-inf"), tl.float32)
        if not SEEDS:
            for step in range(tl.cdiv(count, ROWS)):
                j = step * ROWS + tl.arange(0, ROWS)
                at = (2 * (p + j) + (j == 0)) * (H * K) + hk
                top = tl.maximum(top, tl.load(tops + at, mask=j < count, other=float("-inf")))
        level = tl.max(top, 0)
        total = tl.zeros([ROWS], tl.float32)
        for step in range(tl.cdiv(count, ROWS)):
            j = step * ROWS + tl.arange(0, ROWS)
            at = (2 * (p + j) + (j == 0)) * (H * K) + hk
            part = tl.load(totals + at, mask=j < count, other=0.0)
            if not SEEDS:
                part *= tl.exp(tl.load(tops + at, mask=j < count, other=float("-inf")) - level)
            total += part
        weight = tl.sum(total, 0)
        row = (hk // K).to(tl.int64) * B + b
        if tl.program_id(2) == 0:
            weighed = weight if SEEDS else weight * 0.0 + 1.0
            tl.store(mass + row * K + hk % K, weighed.to(mass.dtype.element_ty))
            if not SEEDS:
                tl.store(lse + b.to(tl.int64) * (H * K) + hk, level + tl.log(weight))
        for i in tl.static_range(NB):
            if tl.program_id(2) == i:
                for column in range(tl.cdiv(WIDTHS[i], BW)):
                    d = column * BW + tl.arange(0, BW)
                    acc = tl.zeros([ROWS, BW], tl.float32)
                    for step in range(tl.cdiv(count, ROWS)):
                        j = step * ROWS + tl.arange(0, ROWS)
                        side = 2 * (p + j) + (j == 0)
                        at = (((hk // K).to(tl.int64) * parts + side) * K + hk % K) * WIDTHS[i]
                        inside = (j < count)[:, None] & (d < WIDTHS[i])[None, :]
                        part = tl.load(sums[i] + at[:, None] + d[None, :], mask=inside, other=0.0)
                        if not SEEDS:
                            other = tl.load(
                                tops + side * (H * K) + hk, mask=j < count, other=float("-inf")
                            )
                            part *= tl.exp(other - level)[:, None]
                        acc += part
                    value = tl.sum(acc, 0) / (1.0 if SEEDS else weight)
                    at_out = outs[i] + (row * K + hk % K) * WIDTHS[i] + d
                    tl.store(at_out, value.to(mass.dtype.element_ty), mask=d < WIDTHS[i])


def forward(call: Call, want_a: bool) -> list[Tensor]:
    """[*blocks of Aᵀ Z, Aᵀ 1, A or nothing, log Σ e^s [B, H·K] over nodes or nothing]"""
    (blocks, m, c, segments, _, axis, _), tiles = call, Tiles.of(*call.shape)
    assert tiles is not None
    z, (R, D, HK), B, seeds = blocks[0], m.shape, segments.num_graphs, axis == "seeds"
    order, ptr = segments.order, segments.ptr
    N, H, K = z.shape[0], tiles.heads, tiles.seeds
    zs = tuple(map(rowwise, blocks))
    widths = tuple(t.shape[1] for t in zs)
    plan = plan_of(tiles, z, B)
    parts = 2 * plan.programs
    outs = tuple(z.new_empty(H, B, K, width) for width in widths)
    mass = z.new_empty(H, B, K)
    # Over nodes the kernel leaves scores here: what to divide by is known at the end of a graph.
    a = z.new_empty(N if want_a else 0, H, K, dtype=z.dtype if seeds else torch.float32)
    lse, tops = (mass.new_empty(0 if seeds else n, HK, dtype=torch.float32) for n in (B, parts))
    totals = mass.new_empty(parts, HK, dtype=torch.float32)
    sums = tuple(mass.new_empty(H, parts, K, width, dtype=torch.float32) for width in widths)
    with on_device(z):
        seed_attention_tiles_forward[(plan.programs,)](
            zs, tiles.padded(m, axis), tiles.padded(c, axis), order, ptr, outs, mass, lse, a,
            sums, totals, tops, B, B // R, plan.chunks, plan.run, parts,
            widths, offsets(widths), tuple(t.stride(0) for t in zs), len(zs), D,
            H, K, tiles.head, tiles.slots, tiles.width, tiles.chunk, seeds, want_a,
            precision(z.dtype), **launch_of(tiles),
        )  # fmt: skip
        if plan.programs > 1:
            merges, by_graph = plan.merges(B)
            seed_attention_tiles_merge[(merges, HK, len(outs))](
                outs, mass, lse, sums, totals, tops, ptr, B, plan.run, parts,
                widths, len(outs), H, K, tiles.chunk, seeds, by_graph, MERGE_ROWS, MERGE_WIDTH,
            )  # fmt: skip
    if want_a and not seeds:
        a = (a.view(N, HK) - lse.index_select(0, segments.batch)).exp_().view(N, H, K).to(z.dtype)
    return [*outs, mass, a, lse]
