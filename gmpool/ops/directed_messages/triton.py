"""Messages on directed bonds on the GPU: see operator.py for what they mean.

    forward   a program takes some rows and a block of columns: it sums what comes in along their
              entries, and writes for each entry what goes out on its way back
    backward  a program does so for several blocks of rows of one replica, one after the other. It
              holds a sum for each kind of bond; each program leaves one part of ∂T, and the parts
              are added after.
An entry is the way back of one other, so no two programs write to one place, and sums are in the
same order in every run. Entries are walked twice, the second time out of a cache: a row's sum must
be known before anything of it is written.
"""

# Triton reads a kernel's annotations itself, and is an optional package without types. It knows
# tuples that grow by addition, and no lists.
# mypy: allow-untyped-defs, disable-error-code="import-untyped, import-not-found, assignment"
# ruff: noqa: RUF005
from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from gmpool.ops.bond_messages.entries import (
    MAX_AHEAD_BACKWARD,
    MAX_KINDS,
    PROGRAMS_PER_SM,
    block_shape,
    rows_at,
)
from gmpool.ops.directed_messages import pytorch
from gmpool.ops.kernel_parts.launch import num_programs, on_device, rowwise
from gmpool.ops.sparse.triton import MAX_AHEAD, WARPS

MAX_IN_KERNEL = 64
"""Of so many kinds the backward pass makes sums one after the other; sets have fewer. Where each
bond is a kind of its own, a row of ∂T is a row of the gradient, and PyTorch puts it there."""


@triton.jit
def _entries_of(rowptr, i, there):
    """(first entry, end) of rows i. [BR]"""
    start = tl.load(rowptr + i, mask=there, other=0).to(tl.int64)
    return start, tl.load(rowptr + i + 1, mask=there, other=0).to(tl.int64)


@triton.jit
def _put(t, row, inside, d, values, D: tl.constexpr):
    """Writes columns d of rows of t. row, inside [BR, AHEAD], values [BR, AHEAD, BD]"""
    at = t + row.to(tl.int64)[:, :, None] * D + d[None, None, :]
    tl.store(at, values.to(t.dtype.element_ty), mask=inside[:, :, None] & (d < D)[None, None, :])


@triton.jit(do_not_specialize=["rows_each"])
def directed_messages_forward(
    own, table, code, g, rowptr, back, h, rows_each,
    D: tl.constexpr, C: tl.constexpr, STRIDE: tl.constexpr, G_STRIDE: tl.constexpr,
    HAS_G: tl.constexpr, BR: tl.constexpr, BD: tl.constexpr, AHEAD: tl.constexpr,
):  # fmt: skip
    replica = tl.program_id(1).to(tl.int64)
    local = tl.program_id(0) * BR + tl.arange(0, BR)
    d = tl.program_id(2) * BD + tl.arange(0, BD)
    there = local < rows_each
    i = replica * rows_each + local
    start, end = _entries_of(rowptr, i, there)
    steps = tl.cdiv(tl.max(end - start, 0), AHEAD)
    inside_row = there[:, None] & (d < D)[None, :]
    heard = tl.load(own + i[:, None] * STRIDE + d[None, :], mask=inside_row, other=0.0)
    heard = heard.to(tl.float32)
    if HAS_G:
        for step in range(steps):
            e = start[:, None] + step * AHEAD + tl.arange(0, AHEAD)[None, :]
            heard += tl.sum(rows_at(g, e, e < end[:, None], d, D, G_STRIDE), 1)
    for step in range(steps):
        e = start[:, None] + step * AHEAD + tl.arange(0, AHEAD)[None, :]
        inside = e < end[:, None]
        p = tl.load(back + e, mask=inside, other=0).to(tl.int64)
        kind = tl.load(code + p, mask=inside, other=0).to(tl.int64)
        z = heard[:, None, :] + rows_at(table, replica * C + kind, inside, d, D, D)
        if HAS_G:
            z -= rows_at(g, e, inside, d, D, G_STRIDE)
        # A comparison lets NaN through, as torch.relu does.
        _put(h, p, inside, d, tl.where(z < 0.0, 0.0, z), D)


@triton.jit
def _passed(h, grad, p, inside, d, D: tl.constexpr, STRIDE: tl.constexpr, G_STRIDE: tl.constexpr):
    """What the ReLU lets through of the gradient, rows p. [BR, AHEAD, BD]"""
    positive = rows_at(h, p, inside, d, D, STRIDE) > 0.0
    return tl.where(positive, rows_at(grad, p, inside, d, D, G_STRIDE), 0.0)


@triton.jit(do_not_specialize=["rows_each", "run"])
def directed_messages_backward(
    h, grad, code, rowptr, back, d_own, d_g, parts, rows_each, run,
    D: tl.constexpr, C: tl.constexpr, STRIDE: tl.constexpr, G_STRIDE: tl.constexpr,
    BR: tl.constexpr, BD: tl.constexpr, AHEAD: tl.constexpr, KINDS: tl.constexpr,
):  # fmt: skip
    program, replica = tl.program_id(0), tl.program_id(1).to(tl.int64)
    groups = tl.cdiv(C, KINDS)
    first = tl.program_id(2) % groups * KINDS
    d = tl.program_id(2) // groups * BD + tl.arange(0, BD)
    of_table = ()
    for _k in tl.static_range(KINDS):
        of_table = of_table + (tl.zeros([BR, BD], tl.float32),)
    last = tl.minimum((program + 1) * run, tl.cdiv(rows_each, BR))
    for number in range(program * run, last):
        local = number * BR + tl.arange(0, BR)
        there = local < rows_each
        i = replica * rows_each + local
        start, end = _entries_of(rowptr, i, there)
        steps = tl.cdiv(tl.max(end - start, 0), AHEAD)
        total = tl.zeros([BR, BD], tl.float32)
        for step in range(steps):
            e = start[:, None] + step * AHEAD + tl.arange(0, AHEAD)[None, :]
            inside = e < end[:, None]
            p = tl.load(back + e, mask=inside, other=0)
            kind = tl.load(code + p, mask=inside, other=0).to(tl.int32)
            passed = _passed(h, grad, p, inside, d, D, STRIDE, G_STRIDE)
            total += tl.sum(passed, 1)
            more = ()
            for k in tl.static_range(KINDS):
                hot = (kind == first + k).to(tl.float32)
                more = more + (of_table[k] + tl.sum(passed * hot[:, :, None], 1),)
            of_table = more
        if first == 0:
            inside_row = there[:, None] & (d < D)[None, :]
            at = d_own + i[:, None] * D + d[None, :]
            tl.store(at, total.to(d_own.dtype.element_ty), mask=inside_row)
            for step in range(steps):
                e = start[:, None] + step * AHEAD + tl.arange(0, AHEAD)[None, :]
                inside = e < end[:, None]
                p = tl.load(back + e, mask=inside, other=0)
                passed = _passed(h, grad, p, inside, d, D, STRIDE, G_STRIDE)
                _put(d_g, e, inside, d, total[:, None, :] - passed, D)
    row = (replica * tl.num_programs(0) + program) * C + first
    for k in tl.static_range(KINDS):
        at = parts + (row + k) * D + d
        tl.store(at, tl.sum(of_table[k], 0), mask=(d < D) & (first + k < C))


def forward(
    own: Tensor, table: Tensor, code: Tensor, g: Tensor | None, rowptr: Tensor, back: Tensor
) -> Tensor:
    """own [N, D], table [R, C, D], code and back [E], g [E, D] or None, rowptr [N+1] -> [E, D]"""
    (N, D), (R, C, _), E, own = own.shape, table.shape, code.shape[0], rowwise(own)
    h = own.new_empty(E, D)
    if E * D == 0:
        return h
    rows_each, heard = N // R, own if g is None else rowwise(g)  # without g it is never read
    rows, columns, ahead = block_shape(N, E, D, MAX_AHEAD)
    with on_device(own):
        directed_messages_forward[(triton.cdiv(rows_each, rows), R, triton.cdiv(D, columns))](
            own, table.contiguous(), code.contiguous(), heard, rowptr, back, h, rows_each,
            D, C, own.stride(0), heard.stride(0), g is not None, rows, columns, ahead,
            num_warps=WARPS,
        )  # fmt: skip
    return h


def backward(
    h: Tensor, grad: Tensor, code: Tensor, rowptr: Tensor, back: Tensor, R: int, C: int
) -> tuple[Tensor, Tensor, Tensor]:
    """(∂own [N, D], ∂T [R, C, D], ∂g [E, D])"""
    if C > MAX_IN_KERNEL:
        return pytorch.backward(h, grad, code, rowptr, back, R, C)
    (E, D), N, h, grad = h.shape, rowptr.shape[0] - 1, rowwise(h), rowwise(grad)
    if E * D == 0:
        return h.new_zeros(N, D), h.new_zeros(R, C, D), h.new_zeros(E, D)
    d_own, d_g, rows_each = h.new_empty(N, D), h.new_empty(E, D), N // R
    rows, columns, ahead = block_shape(N, E, D, MAX_AHEAD_BACKWARD)
    blocks, groups = triton.cdiv(rows_each, rows), triton.cdiv(C, MAX_KINDS)
    run = triton.cdiv(blocks, max(1, num_programs(h.device, PROGRAMS_PER_SM) // R))
    programs = triton.cdiv(blocks, run)
    parts = h.new_empty(R, programs, C, D, dtype=torch.float32)
    with on_device(h):
        directed_messages_backward[(programs, R, groups * triton.cdiv(D, columns))](
            h, grad, code.contiguous(), rowptr, back, d_own, d_g, parts, rows_each, run,
            D, C, h.stride(0), grad.stride(0), rows, columns, ahead, triton.cdiv(C, groups),
            num_warps=WARPS,
        )  # fmt: skip
    return d_own, parts.sum(1).to(h.dtype), d_g
