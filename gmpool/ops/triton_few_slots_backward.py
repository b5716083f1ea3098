"""Seed attention over seeds on the GPU, for few slots, backward: ∂z, ∂M and ∂c by a warp a program.

See triton_few_slots.py for how, and triton_attention_backward.py for what.
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

from gmpool.ops.gpu import on_device
from gmpool.ops.triton_chunks import (
    Plan,
    first_slot,
    graph_after,
    graph_at,
    last_slot,
    merge_sums,
    nodes_at,
)
from gmpool.ops.triton_few_slots import (
    CHUNK,
    LAUNCH,
    LOADED,
    MANY_PARTS,
    PROGRAMS_PER_SM,
    FewSlots,
    Pieces,
    no_sums,
    nodes_left,
    row_of,
    scores,
    shares,
    z_rows,
)


@triton.jit(do_not_specialize=["N", "B", "R", "graphs_each", "slots", "run"])
def _backward(
    zs, m, c, gs, g_mass, g_a, order, ptr, dzs, dm, dc, N, B, R, graphs_each, slots, run,
    WIDTHS: tl.constexpr, OFFSETS: tl.constexpr, STRIDES: tl.constexpr, ROWS: tl.constexpr,
    NP: tl.constexpr, D: tl.constexpr, H: tl.constexpr, K: tl.constexpr, BD: tl.constexpr,
    CH: tl.constexpr, HAS_G_A: tl.constexpr,
):  # fmt: skip
    p, HK = tl.program_id(0), H * K
    G: tl.constexpr = LOADED // BD
    first = p * run
    last = tl.minimum(first + run, slots)
    d = tl.arange(0, BD)
    b = graph_at(ptr, B, first, CH)
    start, end = tl.load(ptr + b).to(tl.int64), tl.load(ptr + b + 1).to(tl.int64)
    at, node = nodes_at(order, start, b, first, N, CH)
    so_far, of_c = no_sums(H * K, NP, BD)
    for slot in range(first, last):
        next_b, next_start, next_end = graph_after(ptr, B, b, start, end, slot + 1, CH)
        next_at, next_node = nodes_at(order, next_start, next_b, slot + 1, N, CH)
        inside = at + tl.arange(0, CH) < end
        replica = b // graphs_each
        if at < end:
            rows = replica * HK
            z = z_rows(zs, node, at, end, d, WIDTHS, STRIDES, CH, BD)
            there = nodes_left(at, end, CH, BD)
            a = shares(scores(z, m, c, rows, d, OFFSETS, WIDTHS, D, H * K, BD), there, H, K)
            da = ()
            for j in tl.static_range(H * K):
                graph_row = ((j // K) * B + b).to(tl.int64) * K + j % K
                of_a = tl.zeros([CH // G, G], tl.float32) + tl.load(g_mass + graph_row)
                if HAS_G_A:
                    of_node = tl.load(g_a + node * HK + j, mask=inside, other=0.0).to(tl.float32)
                    of_a += of_node.reshape(CH // G, G)
                terms = z[0] * row_of(gs[0], graph_row, 0, d, WIDTHS[0], ROWS[0], BD)
                for i in tl.static_range(1, NP):
                    terms += z[i] * row_of(gs[i], graph_row, 0, d, WIDTHS[i], ROWS[i], BD)
                da = da + (of_a + tl.sum(terms, 2),)
            ds = ()
            for h in tl.static_range(H):
                mean = a[h * K] * da[h * K]
                for k in tl.static_range(1, K):
                    mean += a[h * K + k] * da[h * K + k]
                for k in tl.static_range(K):
                    ds = ds + (a[h * K + k] * (da[h * K + k] - mean),)
            for i in tl.static_range(NP):
                dz = tl.zeros([CH // G, G, BD], tl.float32)
                for j in tl.static_range(H * K):
                    graph_row = ((j // K) * B + b).to(tl.int64) * K + j % K
                    g = row_of(gs[i], graph_row, 0, d, WIDTHS[i], ROWS[i], BD)
                    weight = row_of(m, rows + j, OFFSETS[i], d, WIDTHS[i], D, BD)
                    dz += a[j][:, :, None] * g
                    dz += ds[j][:, :, None] * weight
                at_dz = dzs[i] + node[:, None] * ROWS[i] + d[None, :]
                mask = inside[:, None] & (d < WIDTHS[i])[None, :]
                tl.store(at_dz, dz.reshape(CH, BD).to(dzs[i].dtype.element_ty), mask=mask)
            more, more_c = (), ()
            for j in tl.static_range(H * K):
                more_c = more_c + (of_c[j] + tl.sum(ds[j], 0),)
                for i in tl.static_range(NP):
                    part = tl.sum(z[i] * ds[j][:, :, None], 0)
                    more = more + (so_far[j * NP + i] + part,)
            so_far, of_c = more, more_c
        # The slot where the replica's last graph ends, and whether all of it was here.
        final_graph = (replica + 1) * graphs_each - 1
        final_start = tl.load(ptr + final_graph).to(tl.int64)
        final_end = tl.load(ptr + final_graph + 1).to(tl.int64)
        final = last_slot(final_start, final_end, final_graph, CH)
        if (slot == final) | ((slot < final) & (slot + 1 == last)):
            began = first_slot(ptr, replica * graphs_each, CH) >= first
            to = tl.where(began & (final < last), replica, R + 2 * p + began).to(tl.int64) * HK
            for j in tl.static_range(H * K):
                tl.store(dc + to + j, tl.sum(of_c[j], 0))
                for i in tl.static_range(NP):
                    at_dm = dm + (to + j) * D + OFFSETS[i] + d
                    tl.store(at_dm, tl.sum(so_far[j * NP + i], 0), mask=d < WIDTHS[i])
            so_far, of_c = no_sums(H * K, NP, BD)
        b, start, end, at, node = next_b, next_start, next_end, next_at, next_node


def backward(
    blocks: list[Tensor], m: Tensor, c: Tensor, g: list[Tensor], g_mass: Tensor,
    g_a: Tensor | None, order: Tensor, ptr: Tensor, few: FewSlots,
) -> tuple[list[Tensor], Tensor, Tensor]:  # fmt: skip
    """(∂z of each block, ∂M [R, D, H·K], ∂c [R, H·K]), the latter two in float32."""
    z, (R, D, HK), B = blocks[0], m.shape, ptr.shape[0] - 1
    pieces = Pieces.of(blocks, few.columns)
    plan = Plan.of(z.shape[0], B, CHUNK, z.device, PROGRAMS_PER_SM)
    dzs = [t.new_empty(t.shape) for t in blocks]
    dc = z.new_empty(R + 2 * plan.programs, HK, dtype=torch.float32)
    dm = dc.new_empty(*dc.shape, D)
    with on_device(z):
        _backward[(plan.programs,)](
            pieces.zs, m.float().mT.contiguous(), c.float().contiguous(),
            Pieces.cut([t.contiguous() for t in g], few.columns), g_mass.contiguous(),
            g_mass if g_a is None else g_a.contiguous(), order, ptr,
            Pieces.cut(dzs, few.columns), dm, dc, z.shape[0], B, R, B // R, plan.slots, plan.run,
            pieces.widths, pieces.offsets, pieces.strides, pieces.rows, len(pieces.zs), D,
            few.heads, few.seeds, few.columns, plan.chunk, g_a is not None, **LAUNCH,
        )  # fmt: skip
        sums = [dm[None], dc[None]]
        parts, whole = [t[:, R:] for t in sums], [t[:, :R] for t in sums]
        merge_sums(parts, whole, ptr, plan, B // R, **MANY_PARTS)
    return dzs, dm[:R].mT.contiguous(), dc[:R].contiguous()
