"""Seed attention over seeds on the GPU, for few slots, backward: ∂z, ∂M and ∂c by a warp a program.

See few_slots_forward.py for how, and tiles_backward.py for what.
"""

# Triton reads a kernel's annotations itself, and is an optional package without types. It knows
# tuples that grow by addition, and no lists.
# mypy: allow-untyped-defs, disable-error-code="import-untyped, import-not-found, assignment, misc"
# ruff: noqa: RUF005
from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from gmpool.ops import choice
from gmpool.ops.kernel_parts.chunks import (
    first_chunk,
    graph_after,
    graph_at,
    last_chunk,
    merge_sums,
    place_of,
)
from gmpool.ops.kernel_parts.launch import on_device
from gmpool.ops.seed_attention.choice import Call, FewSlots, Gradients
from gmpool.ops.seed_attention.few_slots_forward import (
    LAUNCH,
    LOADED,
    Pieces,
    add_rows,
    group_nodes,
    no_sums,
    plan_of,
    products,
    row_of,
    seeds_of,
    shares,
    z_rows,
)

CHUNK, AHEAD = 4, 2
"""Nodes of a chunk, and how many chunks ahead rows are asked for."""
LINE = tl.constexpr(128)
"""Bytes that come to the cache together."""


@triton.jit
def nodes_ahead(order, at, N, CH: tl.constexpr, AHEAD: tl.constexpr):
    """The nodes of a chunk some chunks after the one at a place: as if all graphs were full."""
    place = at + AHEAD * CH + tl.arange(0, CH)
    return tl.load(order + place, mask=place < N, other=0).to(tl.int64)


@triton.jit
def ask_for_rows(zs, node, WIDTHS: tl.constexpr, STRIDES: tl.constexpr):
    """Have the rows of some nodes brought to the L2 cache, which takes no registers."""
    NUMBERS: tl.constexpr = LINE * 8 // zs[0].dtype.element_ty.primitive_bitwidth
    for i in tl.static_range(len(WIDTHS)):
        for line in tl.static_range((WIDTHS[i] + NUMBERS - 1) // NUMBERS):
            at = zs[i] + node * STRIDES[i] + line * NUMBERS
            tl.inline_asm_elementwise(
                "prefetch.global.L2 [$1]; mov.b32 $0, 0;",
                constraints="=r,l",
                args=[at.to(tl.int64, bitcast=True)],
                dtype=tl.int32,
                is_pure=False,
                pack=1,
            )


@triton.jit
def gradients_of(
    gs, g_mass, b, B, d, WIDTHS: tl.constexpr, ROWS: tl.constexpr, H: tl.constexpr,
    K: tl.constexpr, BD: tl.constexpr,
):  # fmt: skip
    """(rows of the gradient of a graph's Aᵀ Z, that of its Aᵀ 1): H·K·NP of [G, BD], H·K numbers"""
    rows, numbers = (), ()
    for j in tl.static_range(H * K):
        row = ((j // K) * B + b).to(tl.int64) * K + j % K
        numbers = numbers + (tl.load(g_mass + row).to(tl.float32),)
        for i in tl.static_range(len(WIDTHS)):
            rows = rows + (row_of(gs[i], row, 0, d, WIDTHS[i], ROWS[i], BD),)
    return rows, numbers


@triton.jit
def through_softmax(a, da, H: tl.constexpr, K: tl.constexpr):
    """Gradient of the scores of each head's seeds. H·K of [G]"""
    found = ()
    for h in tl.static_range(H):
        mean = a[h * K] * da[h * K]
        for k in tl.static_range(1, K):
            mean += a[h * K + k] * da[h * K + k]
        for k in tl.static_range(K):
            found = found + (a[h * K + k] * (da[h * K + k] - mean),)
    return found


@triton.jit
def final_chunk(ptr, replica, graphs_each, CH: tl.constexpr):
    """The chunk where a replica's last graph ends."""
    b = (replica + 1) * graphs_each - 1
    start, end = tl.load(ptr + b).to(tl.int64), tl.load(ptr + b + 1).to(tl.int64)
    return last_chunk(start, end, b, CH)


@triton.jit(do_not_specialize=["N", "B", "R", "graphs_each", "chunks", "run"])
def seed_attention_few_slots_backward(
    zs, m, c, gs, g_mass, g_a, order, ptr, dzs, dm, dc, N, B, R, graphs_each, chunks, run,
    WIDTHS: tl.constexpr, OFFSETS: tl.constexpr, STRIDES: tl.constexpr, ROWS: tl.constexpr,
    NP: tl.constexpr, D: tl.constexpr, H: tl.constexpr, K: tl.constexpr, BD: tl.constexpr,
    CH: tl.constexpr, HAS_G_A: tl.constexpr, AHEAD: tl.constexpr,
):  # fmt: skip
    p, HK = tl.program_id(0), H * K
    G: tl.constexpr = LOADED // BD
    first = p * run
    last = tl.minimum(first + run, chunks)
    d = tl.arange(0, BD)
    b = graph_at(ptr, B, first, CH)
    start, end = tl.load(ptr + b).to(tl.int64), tl.load(ptr + b + 1).to(tl.int64)
    at = place_of(start, b, first, CH)
    node = group_nodes(order, at, N, CH, BD)
    replica = b // graphs_each
    seeds, biases = seeds_of(m, c, replica, d, OFFSETS, WIDTHS, D, H * K, BD)
    grads, of_mass = gradients_of(gs, g_mass, b, B, d, WIDTHS, ROWS, H, K, BD)
    final = final_chunk(ptr, replica, graphs_each, CH)
    so_far, of_c = no_sums(H * K, NP, BD)
    if AHEAD > 0:
        ahead = nodes_ahead(order, at, N, CH, AHEAD)
    for chunk in range(first, last):
        if AHEAD > 0:
            ask_for_rows(zs, ahead, WIDTHS, STRIDES)
            ahead = nodes_ahead(order, at, N, CH, AHEAD + 1)
        next_b, next_start, next_end = graph_after(ptr, B, b, start, end, chunk + 1, CH)
        next_at = place_of(next_start, next_b, chunk + 1, CH)
        next_node = group_nodes(order, next_at, N, CH, BD)
        if at < end:
            z = z_rows(zs, node, at, end, d, WIDTHS, STRIDES, CH, BD)
            for g in tl.static_range(CH // G):
                there = at + g * G + tl.arange(0, G) < end
                a = shares(products(z, seeds, biases, g, NP, H * K), there, H, K)
                da = products(z, grads, of_mass, g, NP, H * K)
                if HAS_G_A:
                    more = ()
                    for j in tl.static_range(H * K):
                        of_a = tl.load(g_a + node[g] * HK + j, mask=there, other=0.0)
                        more = more + (da[j] + of_a.to(tl.float32),)
                    da = more
                ds = through_softmax(a, da, H, K)
                for i in tl.static_range(NP):
                    dz = tl.zeros([G, BD], tl.float32)
                    for j in tl.static_range(H * K):
                        dz += a[j][:, None] * grads[j * NP + i]
                        dz += ds[j][:, None] * seeds[j * NP + i]
                    at_dz = dzs[i] + node[g][:, None] * ROWS[i] + d[None, :]
                    mask = there[:, None] & (d < WIDTHS[i])[None, :]
                    tl.store(at_dz, dz.to(dzs[i].dtype.element_ty), mask=mask)
                so_far, of_c = add_rows(so_far, of_c, z, ds, g, NP, H * K)
        if (chunk == final) | ((chunk < final) & (chunk + 1 == last)):
            began = first_chunk(ptr, replica * graphs_each, CH) >= first
            to = tl.where(began & (final < last), replica, R + 2 * p + began).to(tl.int64) * HK
            for j in tl.static_range(H * K):
                tl.store(dc + to + j, tl.sum(of_c[j], 0))
                for i in tl.static_range(NP):
                    at_dm = dm + (to + j) * D + OFFSETS[i] + d
                    tl.store(at_dm, tl.sum(so_far[j * NP + i], 0), mask=d < WIDTHS[i])
            so_far, of_c = no_sums(H * K, NP, BD)
        if (next_b != b) & (next_b < B):
            grads, of_mass = gradients_of(gs, g_mass, next_b, B, d, WIDTHS, ROWS, H, K, BD)
            if next_b // graphs_each != replica:
                replica = next_b // graphs_each
                seeds, biases = seeds_of(m, c, replica, d, OFFSETS, WIDTHS, D, H * K, BD)
                final = final_chunk(ptr, replica, graphs_each, CH)
        b, start, end, at, node = next_b, next_start, next_end, next_at, next_node


def backward(call: Call, grads: Gradients) -> list[Tensor]:
    """[*∂z, ∂M, ∂c]"""
    (blocks, m, c, segments, *_), few = call, FewSlots.of(*call.shape)
    assert few is not None
    g_mass, has_g_a = grads.mass, grads.a.shape[0] > 0
    z, (R, D, HK), B = blocks[0], m.shape, segments.num_graphs
    order, ptr = segments.order, segments.ptr
    pieces = Pieces.of(blocks, few.columns)
    plan = plan_of(few, z, B, CHUNK)
    dzs = [t.new_empty(t.shape) for t in blocks]
    dc = z.new_empty(R + 2 * plan.programs, HK, dtype=torch.float32)
    dm = dc.new_empty(*dc.shape, D)
    with on_device(z):
        seed_attention_few_slots_backward[(plan.programs,)](
            pieces.zs, m.float().mT.contiguous(), c.float().contiguous(),
            Pieces.cut([t.contiguous() for t in grads.pooled], few.columns), g_mass.contiguous(),
            grads.a.contiguous() if has_g_a else g_mass, order, ptr,
            Pieces.cut(dzs, few.columns), dm, dc, z.shape[0], B, R, B // R, plan.chunks, plan.run,
            pieces.widths, pieces.offsets, pieces.strides, pieces.rows, len(pieces.zs), D,
            few.heads, few.seeds, few.columns, plan.chunk_size, has_g_a,
            0 if choice.INTERPRET else AHEAD, **LAUNCH,
        )  # fmt: skip
        sums = [dm[None], dc[None]]
        parts, whole = [t[:, R:] for t in sums], [t[:, :R] for t in sums]
        merge_sums(parts, whole, ptr, plan, B // R)
    return [*dzs, dm[:R].mT.contiguous().to(m.dtype), dc[:R].contiguous().to(m.dtype)]
