"""Seed attention on tiles on the GPU, backward: ∂z, ∂M and ∂c in one pass over Z.

Scores and A are made again from Z, M and (over nodes) the logarithm of Σ e^s per graph. With g the
gradient of Aᵀ Z, for each node
    ∂a = z · g + g_mass (+ g_a)         ∂s = a (∂a - Σ a ∂a)          ∂z = A g + ∂s Mᵀ
where Σ runs over the seeds of the head, or over the nodes of the graph: the latter is
g · Aᵀ Z + g_mass, which needs no pass of its own. ∂M = Zᵀ ∂s and ∂c = Σ ∂s are summed per program
in row R + 2p (+ 1) of one buffer, or in row r when the program has all of replica r.
"""

# Triton reads a kernel's annotations itself, and is an optional package without types.
# mypy: allow-untyped-defs, disable-error-code="import-untyped, import-not-found"
from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from gmpool.ops.kernel_parts.chunks import chunk_at, first_chunk, graph_at, last_chunk, merge_sums
from gmpool.ops.kernel_parts.launch import on_device, precision, rowwise
from gmpool.ops.seed_attention.choice import Call, Gradients, Kept, Tiles
from gmpool.ops.seed_attention.tiles_forward import (
    graph_tile,
    head_sums,
    launch_of,
    m_tile,
    offsets,
    plan_of,
    seeds_softmax,
    slot_table,
    z_tile,
)
from gmpool.ops.segment import segment_sum
from gmpool.ops.wide import wide


@triton.jit(do_not_specialize=["B", "R", "graphs_each", "chunks", "run"])
def seed_attention_tiles_backward(
    zs, m, c, gs, g_mass, g_a, lse, pooled, extra, order, ptr, dzs, dm, dc,
    B, R, graphs_each, chunks, run,
    WIDTHS: tl.constexpr, OFFSETS: tl.constexpr, STRIDES: tl.constexpr, NB: tl.constexpr,
    D: tl.constexpr, H: tl.constexpr, K: tl.constexpr, KP: tl.constexpr, S: tl.constexpr,
    BD: tl.constexpr, CH: tl.constexpr, SEEDS: tl.constexpr, HAS_G_A: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    p = tl.program_id(0)
    first = p * run
    last = tl.minimum(first + run, chunks)
    h, k, there = slot_table(H, K, KP, S, SEEDS)
    hk, j = h * K + k, tl.arange(0, S)
    b = graph_at(ptr, B, first, CH)
    sum_ds = tl.zeros([S], tl.float32)
    shared = tl.zeros([S], tl.float32)
    touched = b < 0
    for chunk in range(first, last):
        b += (chunk >= first_chunk(ptr, b + 1, CH)).to(tl.int32)
        start, end, at, node, inside = chunk_at(ptr, order, b, chunk, CH)
        replica = b // graphs_each
        # Where this program's sums over the replica go.
        final_graph = (replica + 1) * graphs_each - 1
        final_start = tl.load(ptr + final_graph).to(tl.int64)
        final_end = tl.load(ptr + final_graph + 1).to(tl.int64)
        final = last_chunk(final_start, final_end, final_graph, CH)
        began = first_chunk(ptr, replica * graphs_each, CH) >= first
        row = tl.where(began & (final < last), replica, R + 2 * p + began).to(tl.int64)
        if at < end:
            s = tl.zeros([CH, S], tl.float32)
            da = tl.zeros([CH, S], tl.float32)
            for i in tl.static_range(NB):
                for tile in range(tl.cdiv(WIDTHS[i], BD)):
                    d = tile * BD + tl.arange(0, BD)
                    mask = (d < WIDTHS[i])[:, None] & there[None, :]
                    z = z_tile(zs[i], node, inside, d, WIDTHS[i], STRIDES[i])
                    weight = m_tile(m, replica, OFFSETS[i], d, WIDTHS[i], D, S)
                    at_g = graph_tile(gs[i], b, B, h, k, d, WIDTHS[i], K)
                    g = tl.load(at_g, mask=mask, other=0.0).to(tl.float32)
                    s += tl.dot(z, weight, input_precision=PRECISION)
                    da += tl.dot(z, g, input_precision=PRECISION)
            s += tl.load(c + replica * S + j)[None, :]
            at_mass = g_mass + (h.to(tl.int64) * B + b) * K + k
            of_mass = tl.load(at_mass, mask=there, other=0.0).to(tl.float32)
            counted = inside[:, None] & there[None, :]
            da += of_mass[None, :]
            if HAS_G_A:
                at_a = g_a + node[:, None] * (H * K) + hk[None, :]
                da += tl.load(at_a, mask=counted, other=0.0).to(tl.float32)
            if SEEDS:
                a = tl.where(counted, seeds_softmax(s, there, CH, S, KP), 0.0)
                w = a * da
                ds = w - a * head_sums(w, CH, S, KP)
            else:
                level = tl.load(lse + b.to(tl.int64) * (H * K) + hk, mask=there, other=0.0)
                a = tl.where(counted, tl.exp(s - level[None, :]), 0.0)
                if (at == start) | (chunk == first):
                    # Σ over the graph of a ∂a, once for all its chunks here.
                    shared = of_mass
                    if HAS_G_A:
                        shared += tl.load(extra + b.to(tl.int64) * (H * K) + hk, there, 0.0)
                    for i in tl.static_range(NB):
                        for tile in range(tl.cdiv(WIDTHS[i], BD)):
                            d = tile * BD + tl.arange(0, BD)
                            mask = (d < WIDTHS[i])[:, None] & there[None, :]
                            at_g = graph_tile(gs[i], b, B, h, k, d, WIDTHS[i], K)
                            at_o = graph_tile(pooled[i], b, B, h, k, d, WIDTHS[i], K)
                            g = tl.load(at_g, mask=mask, other=0.0).to(tl.float32)
                            o = tl.load(at_o, mask=mask, other=0.0).to(tl.float32)
                            shared += tl.sum(g * o, 0)
                ds = a * (da - shared[None, :])
            sum_ds += tl.sum(ds, 0)
            # What this program wrote to `dm` for the last chunk is read by other threads here.
            tl.debug_barrier()
            for i in tl.static_range(NB):
                for tile in range(tl.cdiv(WIDTHS[i], BD)):
                    d = tile * BD + tl.arange(0, BD)
                    mask = (d < WIDTHS[i])[:, None] & there[None, :]
                    weight = m_tile(m, replica, OFFSETS[i], d, WIDTHS[i], D, S)
                    at_g = graph_tile(gs[i], b, B, h, k, d, WIDTHS[i], K)
                    g = tl.load(at_g, mask=mask, other=0.0).to(tl.float32)
                    dz = tl.dot(a, tl.trans(g), input_precision=PRECISION)
                    dz += tl.dot(ds, tl.trans(weight), input_precision=PRECISION)
                    at_dz = dzs[i] + node[:, None] * WIDTHS[i] + d[None, :]
                    written = inside[:, None] & (d < WIDTHS[i])[None, :]
                    tl.store(at_dz, dz.to(dzs[i].dtype.element_ty), mask=written)
                    z = z_tile(zs[i], node, inside, d, WIDTHS[i], STRIDES[i])
                    at_dm = dm + (row * D + OFFSETS[i] + d)[:, None] * S + j[None, :]
                    rows = (d < WIDTHS[i])[:, None] & (j < S)[None, :]
                    grown = tl.load(at_dm, mask=rows & touched, other=0.0)
                    grown += tl.dot(tl.trans(z), ds, input_precision=PRECISION)
                    tl.store(at_dm, grown, mask=rows)
            touched = b >= 0
        if (chunk == final) | ((chunk < final) & (chunk + 1 == last)):
            tl.store(dc + row * S + j, sum_ds)
            if not touched:
                for tile in range(tl.cdiv(D, BD)):
                    d = tile * BD + tl.arange(0, BD)
                    at_dm = dm + (row * D + d)[:, None] * S + j[None, :]
                    tl.store(at_dm, tl.zeros([BD, S], tl.float32), mask=(d < D)[:, None])
            sum_ds = tl.zeros([S], tl.float32)
            touched = b < 0


def backward(call: Call, kept: Kept, grads: Gradients) -> list[Tensor]:
    """[*∂z, ∂M, ∂c]"""
    (blocks, m, c, segments, _, axis, _), tiles = call, Tiles.of(*call.shape)
    assert tiles is not None
    g_mass, has_g_a = grads.mass, grads.a.shape[0] > 0
    extra = kept.lse  # [B, H·K]: Σ a g_a of each graph, read over nodes when there is a g_a
    if has_g_a and axis == "nodes":
        extra = segment_sum((wide(kept.a) * wide(grads.a)).flatten(1), segments)
    z, (R, D, _), B = blocks[0], m.shape, segments.num_graphs
    order, ptr = segments.order, segments.ptr
    zs = tuple(map(rowwise, blocks))
    widths = tuple(t.shape[1] for t in zs)
    plan = plan_of(tiles, z, B)
    parts = 2 * plan.programs
    dzs = tuple(t.new_empty(t.shape) for t in zs)
    dm = z.new_empty(R + parts, D, tiles.slots, dtype=torch.float32)
    dc = z.new_empty(R + parts, tiles.slots, dtype=torch.float32)
    gs = tuple(t.contiguous() for t in grads.pooled)
    with on_device(z):
        seed_attention_tiles_backward[(plan.programs,)](
            zs, tiles.padded(m, axis), tiles.padded(c, axis), gs, g_mass.contiguous(),
            grads.a.contiguous() if has_g_a else g_mass, kept.lse,
            gs if axis == "seeds" else tuple(t.contiguous() for t in kept.pooled),
            extra.contiguous(), order, ptr, dzs, dm, dc,
            B, R, B // R, plan.chunks, plan.run,
            widths, offsets(widths), tuple(t.stride(0) for t in zs), len(zs), D,
            tiles.heads, tiles.seeds, tiles.head, tiles.slots, tiles.width_back, tiles.chunk,
            axis == "seeds", has_g_a, precision(z.dtype),
            **launch_of(tiles),
        )  # fmt: skip
        sums = [dm[None], dc[None]]
        merge_sums([t[:, R:] for t in sums], [t[:, :R] for t in sums], ptr, plan, B // R)
    dm, dc = tiles.unpadded(dm[:R], axis), tiles.unpadded(dc[:R], axis)
    return [*dzs, dm.contiguous().to(m.dtype), dc.contiguous().to(m.dtype)]
