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
from gmpool.ops.triton_chunks import chunk_at, first_slot, graph_at, last_slot, merge_sum
from gmpool.ops.triton_few_slots import (
    LOADED,
    MANY_PARTS,
    FewSlots,
    Pieces,
    grouped,
    row_of,
    scores,
    shares,
)
from gmpool.ops.triton_tiles import z_tile


@triton.jit(do_not_specialize=["B", "R", "graphs_each", "slots", "run"])
def _backward(
    zs, m, c, gs, g_mass, g_a, order, ptr, dzs, dm, dc, B, R, graphs_each, slots, run,
    WIDTHS: tl.constexpr, OFFSETS: tl.constexpr, STRIDES: tl.constexpr, ROWS: tl.constexpr,
    NP: tl.constexpr, D: tl.constexpr, H: tl.constexpr, K: tl.constexpr, BD: tl.constexpr,
    CH: tl.constexpr, HAS_G_A: tl.constexpr,
):  # fmt: skip
    p, HK = tl.program_id(0), H * K
    first = p * run
    last = tl.minimum(first + run, slots)
    d = tl.arange(0, BD)
    b = graph_at(ptr, B, first, CH)
    so_far, of_c = (), ()
    for _j in tl.static_range(H * K):
        of_c = of_c + (0.0,)
        for _i in tl.static_range(NP):
            so_far = so_far + (tl.zeros([LOADED // BD, BD], tl.float32),)
    for slot in range(first, last):
        b += (slot >= first_slot(ptr, b + 1, CH)).to(tl.int32)
        _, end, at, node, inside = chunk_at(ptr, order, b, slot, CH)
        replica = b // graphs_each
        if at < end:
            rows = replica * HK
            z = ()
            for i in tl.static_range(NP):
                z = z + (z_tile(zs[i], node, inside, d, WIDTHS[i], STRIDES[i]),)
            a = shares(scores(z, m, c, rows, d, OFFSETS, WIDTHS, D, H * K), inside, H, K)
            da = ()
            for j in tl.static_range(H * K):
                graph_row = ((j // K) * B + b).to(tl.int64) * K + j % K
                of_a = tl.zeros([CH], tl.float32) + tl.load(g_mass + graph_row).to(tl.float32)
                if HAS_G_A:
                    of_a += tl.load(g_a + node * HK + j, mask=inside, other=0.0).to(tl.float32)
                terms = z[0] * row_of(gs[0], graph_row, 0, d, WIDTHS[0], ROWS[0])[None, :]
                for i in tl.static_range(1, NP):
                    terms += z[i] * row_of(gs[i], graph_row, 0, d, WIDTHS[i], ROWS[i])[None, :]
                da = da + (of_a + tl.sum(terms, 1),)
            ds = ()
            for h in tl.static_range(H):
                mean = a[h * K] * da[h * K]
                for k in tl.static_range(1, K):
                    mean += a[h * K + k] * da[h * K + k]
                for k in tl.static_range(K):
                    ds = ds + (a[h * K + k] * (da[h * K + k] - mean),)
            for i in tl.static_range(NP):
                dz = tl.zeros([CH, BD], tl.float32)
                for j in tl.static_range(H * K):
                    graph_row = ((j // K) * B + b).to(tl.int64) * K + j % K
                    g = row_of(gs[i], graph_row, 0, d, WIDTHS[i], ROWS[i])
                    weight = row_of(m, rows + j, OFFSETS[i], d, WIDTHS[i], D)
                    dz += a[j][:, None] * g[None, :] + ds[j][:, None] * weight[None, :]
                at_dz = dzs[i] + node[:, None] * ROWS[i] + d[None, :]
                mask = inside[:, None] & (d < WIDTHS[i])[None, :]
                tl.store(at_dz, dz.to(dzs[i].dtype.element_ty), mask=mask)
            more, more_c = (), ()
            for j in tl.static_range(H * K):
                more_c = more_c + (of_c[j] + tl.sum(ds[j], 0),)
                for i in tl.static_range(NP):
                    part = grouped(z[i] * ds[j][:, None], CH, BD)
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
            none, none_c = (), ()
            for j in tl.static_range(H * K):
                tl.store(dc + to + j, of_c[j])
                none_c = none_c + (0.0,)
                for i in tl.static_range(NP):
                    at_dm = dm + (to + j) * D + OFFSETS[i] + d
                    tl.store(at_dm, tl.sum(so_far[j * NP + i], 0), mask=d < WIDTHS[i])
                    none = none + (tl.zeros([LOADED // BD, BD], tl.float32),)
            so_far, of_c = none, none_c


def backward(
    blocks: list[Tensor], m: Tensor, c: Tensor, g: list[Tensor], g_mass: Tensor,
    g_a: Tensor | None, order: Tensor, ptr: Tensor, few: FewSlots,
) -> tuple[list[Tensor], Tensor, Tensor]:  # fmt: skip
    """(∂z of each block, ∂M [R, D, H·K], ∂c [R, H·K]), the latter two in float32."""
    z, (R, D, HK), B = blocks[0], m.shape, ptr.shape[0] - 1
    pieces = Pieces.of(blocks, few.columns)
    plan = few.plan(z.shape[0], B, z.device)
    dzs = [t.new_empty(t.shape) for t in blocks]
    dc = z.new_empty(R + 2 * plan.programs, HK, dtype=torch.float32)
    dm = dc.new_empty(*dc.shape, D)
    with on_device(z):
        _backward[(plan.programs,)](
            pieces.zs, m.float().mT.contiguous(), c.float().contiguous(),
            Pieces.cut([t.contiguous() for t in g], few.columns), g_mass.contiguous(),
            g_mass if g_a is None else g_a.contiguous(), order, ptr,
            Pieces.cut(dzs, few.columns), dm, dc, B, R, B // R, plan.slots, plan.run,
            pieces.widths, pieces.offsets, pieces.strides, pieces.rows, len(pieces.zs), D,
            few.heads, few.seeds, few.columns, few.chunk, g_a is not None,
            num_warps=1, num_stages=1,
        )  # fmt: skip
        for t in (dm, dc):
            merge_sum(t[None, R:], t[None, :R], ptr, plan, B // R, **MANY_PARTS)
    return dzs, dm[:R].mT.contiguous(), dc[:R].contiguous()
