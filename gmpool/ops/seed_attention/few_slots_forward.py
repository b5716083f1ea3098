"""Seed attention over seeds on the GPU, for few slots, forward: see few_slots_parts.py for how."""

# Triton reads a kernel's annotations itself, and is an optional package without types.
# mypy: allow-untyped-defs, disable-error-code="import-untyped, import-not-found"
from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from gmpool.ops.kernel_parts.chunks import graph_after, graph_at, last_chunk, merge_sums, place_of
from gmpool.ops.kernel_parts.launch import on_device
from gmpool.ops.seed_attention.call import Call
from gmpool.ops.seed_attention.cuts import FewSlots
from gmpool.ops.seed_attention.few_slots_parts import (
    LAUNCH,
    LOADED,
    Pieces,
    add_rows,
    group_nodes,
    no_sums,
    plan_of,
    products,
    seeds_of,
    shares,
    z_rows,
)

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
