"""collect, spread and match on the GPU: see operator.py for what they mean.

A program walks along chunks of nodes (kernel_parts/chunks.py) with a block of columns or of the H·K
slots; small graphs and a graph of a million nodes take the same path.
"""

# Triton reads a kernel's annotations itself, and is an optional package without types.
# mypy: allow-untyped-defs, disable-error-code="import-untyped, import-not-found"
from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from gmpool.ops.kernel_parts.chunks import (
    Plan,
    chunk_at,
    first_chunk,
    graph_at,
    last_chunk,
    merge_sums,
)
from gmpool.ops.kernel_parts.launch import block_of, on_device, precision, rowwise
from gmpool.ops.segment import Segments

CHUNK = 64  # nodes
MAX_COLUMNS, MAX_SLOTS = 64, 32  # with more, a tf32x3 product spills registers
LAUNCH, PROGRAMS_PER_SM = {"num_warps": 4, "num_stages": 1}, 4


@triton.jit
def _slot_rows(hk, b, graphs, K: tl.constexpr):
    """Rows of graph b in [H, graphs, K, ·], flattened."""
    return ((hk // K).to(tl.int64) * graphs + b) * K + hk % K


@triton.jit(do_not_specialize=["B", "chunks", "run", "parts"])
def grouped_collect(
    a, z, order, ptr, out, part, B, chunks, run, parts,
    D: tl.constexpr, STRIDE: tl.constexpr, H: tl.constexpr, K: tl.constexpr, CH: tl.constexpr,
    BD: tl.constexpr, BH: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    first = tl.program_id(0) * run
    last = tl.minimum(first + run, chunks)
    d = tl.program_id(1) * BD + tl.arange(0, BD)
    hk = tl.program_id(2) * BH + tl.arange(0, BH)
    b = graph_at(ptr, B, first, CH)
    acc = tl.zeros([BD, BH], tl.float32)
    for chunk in range(first, last):
        b += (chunk >= first_chunk(ptr, b + 1, CH)).to(tl.int32)
        start, end, at, node, inside = chunk_at(ptr, order, b, chunk, CH)
        if at < end:
            rows = tl.load(
                z + node[:, None] * STRIDE + d[None, :],
                mask=inside[:, None] & (d < D)[None, :], other=0.0,
            ).to(tl.float32)  # fmt: skip
            weight = tl.load(
                a + node[:, None] * (H * K) + hk[None, :],
                mask=inside[:, None] & (hk < H * K)[None, :], other=0.0,
            ).to(tl.float32)  # fmt: skip
            acc += tl.dot(tl.trans(rows), weight, input_precision=PRECISION)
        final = last_chunk(start, end, b, CH)
        if (chunk == final) | ((chunk < final) & (chunk + 1 == last)):
            mask = (d < D)[:, None] & (hk < H * K)[None, :]
            began = start // CH + b >= first
            if began & (chunk == final):
                at_out = out + _slot_rows(hk, b, B, K)[None, :] * D + d[:, None]
                tl.store(at_out, acc.to(out.dtype.element_ty), mask=mask)
            else:
                row = _slot_rows(hk, 2 * tl.program_id(0) + began, parts, K)
                tl.store(part + row[None, :] * D + d[:, None], acc, mask=mask)
            acc = tl.zeros([BD, BH], tl.float32)


@triton.jit(do_not_specialize=["B", "chunks", "run"])
def grouped_spread(
    a, o, order, ptr, out, B, chunks, run,
    D: tl.constexpr, H: tl.constexpr, K: tl.constexpr, CH: tl.constexpr,
    BD: tl.constexpr, BH: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    first = tl.program_id(0) * run
    d = tl.program_id(1) * BD + tl.arange(0, BD)
    b = graph_at(ptr, B, first, CH)
    for chunk in range(first, tl.minimum(first + run, chunks)):
        b += (chunk >= first_chunk(ptr, b + 1, CH)).to(tl.int32)
        _, end, at, node, inside = chunk_at(ptr, order, b, chunk, CH)
        if at < end:
            acc = tl.zeros([CH, BD], tl.float32)
            for block in range(tl.cdiv(H * K, BH)):
                hk = block * BH + tl.arange(0, BH)
                weight = tl.load(
                    a + node[:, None] * (H * K) + hk[None, :],
                    mask=inside[:, None] & (hk < H * K)[None, :], other=0.0,
                ).to(tl.float32)  # fmt: skip
                rows = tl.load(
                    o + _slot_rows(hk, b, B, K)[:, None] * D + d[None, :],
                    mask=(hk < H * K)[:, None] & (d < D)[None, :], other=0.0,
                ).to(tl.float32)  # fmt: skip
                acc += tl.dot(weight, rows, input_precision=PRECISION)
            at_out = out + node[:, None] * D + d[None, :]
            mask = inside[:, None] & (d < D)[None, :]
            tl.store(at_out, acc.to(out.dtype.element_ty), mask=mask)


@triton.jit(do_not_specialize=["B", "chunks", "run"])
def grouped_match(
    z, o, order, ptr, out, B, chunks, run,
    D: tl.constexpr, STRIDE: tl.constexpr, H: tl.constexpr, K: tl.constexpr, CH: tl.constexpr,
    BD: tl.constexpr, BH: tl.constexpr, ADD: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    first = tl.program_id(0) * run
    hk = tl.program_id(1) * BH + tl.arange(0, BH)
    b = graph_at(ptr, B, first, CH)
    for chunk in range(first, tl.minimum(first + run, chunks)):
        b += (chunk >= first_chunk(ptr, b + 1, CH)).to(tl.int32)
        _, end, at, node, inside = chunk_at(ptr, order, b, chunk, CH)
        if at < end:
            at_out = out + node[:, None] * (H * K) + hk[None, :]
            mask = inside[:, None] & (hk < H * K)[None, :]
            acc = tl.zeros([CH, BH], tl.float32)
            if ADD:
                acc += tl.load(at_out, mask=mask, other=0.0).to(tl.float32)
            row = _slot_rows(hk, b, B, K)
            for block in range(tl.cdiv(D, BD)):
                d = block * BD + tl.arange(0, BD)
                rows = tl.load(
                    z + node[:, None] * STRIDE + d[None, :],
                    mask=inside[:, None] & (d < D)[None, :], other=0.0,
                ).to(tl.float32)  # fmt: skip
                against = tl.load(
                    o + row[None, :] * D + d[:, None],
                    mask=(d < D)[:, None] & (hk < H * K)[None, :], other=0.0,
                ).to(tl.float32)  # fmt: skip
                acc += tl.dot(rows, against, input_precision=PRECISION)
            tl.store(at_out, acc.to(out.dtype.element_ty), mask=mask)


def collect(a: Tensor, blocks: list[Tensor], segments: Segments) -> list[Tensor]:
    """a [N, H, K], blocks [N, D_l] -> [H, B, K, D_l] each"""
    (N, H, K), B, a = a.shape, segments.num_graphs, a.contiguous()
    order, ptr = segments.order, segments.ptr
    plan = Plan.of(N, B, CHUNK, a.device, PROGRAMS_PER_SM)
    outs, parts = [], []
    for z in map(rowwise, blocks):
        D = z.shape[1]
        out = z.new_empty(H, B, K, D)
        part = z.new_empty(H, 2 * plan.programs, K, D, dtype=torch.float32)
        outs.append(out)
        parts.append(part)
        if out.numel() == 0:
            continue
        columns, slots = block_of(D, MAX_COLUMNS), block_of(H * K, MAX_SLOTS)
        with on_device(z):
            grouped_collect[(plan.programs, triton.cdiv(D, columns), triton.cdiv(H * K, slots))](
                a, z, order, ptr, out, part, B, plan.chunks, plan.run, 2 * plan.programs,
                D, z.stride(0), H, K, CHUNK, columns, slots, precision(z.dtype), **LAUNCH,
            )  # fmt: skip
    with on_device(a):
        merge_sums(parts, outs, ptr, plan)
    return outs


def spread(a: Tensor, blocks: list[Tensor], segments: Segments) -> list[Tensor]:
    """a [N, H, K], blocks [H, B, K, D_l] -> [N, D_l] each"""
    (N, H, K), B, a = a.shape, segments.num_graphs, a.contiguous()
    order, ptr = segments.order, segments.ptr
    plan = Plan.of(N, B, CHUNK, a.device, PROGRAMS_PER_SM)
    outs = []
    for o in blocks:
        D = o.shape[3]
        out = o.new_empty(N, D)
        outs.append(out)
        if out.numel() == 0:
            continue
        columns, slots = block_of(D, MAX_COLUMNS), block_of(H * K, MAX_SLOTS)
        with on_device(o):
            grouped_spread[(plan.programs, triton.cdiv(D, columns))](
                a, o.contiguous(), order, ptr, out, B, plan.chunks, plan.run,
                D, H, K, CHUNK, columns, slots, precision(o.dtype), **LAUNCH,
            )  # fmt: skip
    return outs


def match(zs: list[Tensor], os: list[Tensor], segments: Segments) -> Tensor:
    """zs [N, D_l], os [H, B, K, D_l] -> [N, H, K], summed over the blocks"""
    N, (H, B, K, _) = zs[0].shape[0], os[0].shape
    order, ptr = segments.order, segments.ptr
    out = zs[0].new_empty(N, H, K, dtype=torch.float32)
    plan = Plan.of(N, B, CHUNK, out.device, PROGRAMS_PER_SM)
    slots = block_of(H * K, MAX_SLOTS)
    for i, (z, o) in enumerate(zip(map(rowwise, zs), os, strict=True)):
        D = z.shape[1]
        with on_device(z):
            grouped_match[(plan.programs, triton.cdiv(H * K, slots))](
                z, o.contiguous(), order, ptr, out, B, plan.chunks, plan.run,
                D, z.stride(0), H, K, CHUNK, block_of(D, MAX_COLUMNS), slots, i > 0,
                precision(z.dtype), **LAUNCH,
            )  # fmt: skip
    return out.to(zs[0].dtype)
