"""Messages with bonds on the GPU: see operator.py for what they mean.

    forward   a program takes some rows and a block of columns, and walks along their entries
    backward  a program does so for several blocks of rows of one replica, one after the other. It
              holds a sum for each kind of bond, which takes what the entries of that kind give by
              multiplying and adding: their rows stay where they were loaded, as they would not for
              a product of tiles. Each program leaves one part of ∂T; the parts are added after.
No two programs write to one place, and sums are in the same order in every run. A row's entries are
walked one after the other, however many there are: atoms have few bonds.
"""

# Triton reads a kernel's annotations itself, and is an optional package without types. It knows
# tuples that grow by addition, and no lists.
# mypy: allow-untyped-defs, disable-error-code="import-untyped, import-not-found, assignment"
# ruff: noqa: RUF005
from __future__ import annotations

from typing import Any

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
from gmpool.ops.kernel_parts.launch import num_programs, on_device, rowwise
from gmpool.ops.sparse.triton import MAX_AHEAD, WARPS


@triton.jit(do_not_specialize=["rows_each"])
def bond_messages_forward(
    x, table, code, weight, rowptr, col, y, rows_each,
    D: tl.constexpr, C: tl.constexpr, STRIDE: tl.constexpr, HAS_WEIGHT: tl.constexpr,
    BR: tl.constexpr, BD: tl.constexpr, AHEAD: tl.constexpr,
):  # fmt: skip
    replica = tl.program_id(1).to(tl.int64)
    local = tl.program_id(0) * BR + tl.arange(0, BR)
    d = tl.program_id(2) * BD + tl.arange(0, BD)
    there = local < rows_each
    i = replica * rows_each + local
    start = tl.load(rowptr + i, mask=there, other=0).to(tl.int64)
    end = tl.load(rowptr + i + 1, mask=there, other=0).to(tl.int64)
    acc = tl.zeros([BR, BD], tl.float32)
    for step in range(tl.cdiv(tl.max(end - start, 0), AHEAD)):
        e = start[:, None] + step * AHEAD + tl.arange(0, AHEAD)[None, :]
        inside = e < end[:, None]
        source = tl.load(col + e, mask=inside, other=0)
        kind = tl.load(code + e, mask=inside, other=0).to(tl.int64)
        message = rows_at(x, source, inside, d, D, STRIDE)
        message += rows_at(table, replica * C + kind, inside, d, D, D)
        message = tl.where(message < 0.0, 0.0, message)  # lets NaN through, as torch.relu does
        if HAS_WEIGHT:
            w = tl.load(weight + e, mask=inside, other=0.0).to(tl.float32)
            message *= w[:, :, None]
        acc += tl.sum(message, 1)
    at = y + i[:, None] * D + d[None, :]
    tl.store(at, acc.to(y.dtype.element_ty), mask=there[:, None] & (d < D)[None, :])


@triton.jit(do_not_specialize=["rows_each", "run"])
def bond_messages_backward(
    x, table, code, weight, rowptr, col, grad, dx, parts, rows_each, run,
    D: tl.constexpr, C: tl.constexpr, STRIDE: tl.constexpr, G_STRIDE: tl.constexpr,
    HAS_WEIGHT: tl.constexpr, BR: tl.constexpr, BD: tl.constexpr, AHEAD: tl.constexpr,
    KINDS: tl.constexpr,
):  # fmt: skip
    p, replica = tl.program_id(0), tl.program_id(1).to(tl.int64)
    groups = tl.cdiv(C, KINDS)
    first = tl.program_id(2) % groups * KINDS
    d = tl.program_id(2) // groups * BD + tl.arange(0, BD)
    of_table = ()
    for _k in tl.static_range(KINDS):
        of_table = of_table + (tl.zeros([BR, BD], tl.float32),)
    for block in range(p * run, tl.minimum((p + 1) * run, tl.cdiv(rows_each, BR))):
        local = block * BR + tl.arange(0, BR)
        there = local < rows_each
        i = replica * rows_each + local
        start = tl.load(rowptr + i, mask=there, other=0).to(tl.int64)
        end = tl.load(rowptr + i + 1, mask=there, other=0).to(tl.int64)
        inside_row = there[:, None] & (d < D)[None, :]
        own = tl.load(
            x + i[:, None] * STRIDE + d[None, :], mask=inside_row, other=0.0
        ).to(tl.float32)  # fmt: skip
        acc = tl.zeros([BR, BD], tl.float32)
        for step in range(tl.cdiv(tl.max(end - start, 0), AHEAD)):
            e = start[:, None] + step * AHEAD + tl.arange(0, AHEAD)[None, :]
            inside = e < end[:, None]
            target = tl.load(col + e, mask=inside, other=0)
            kind = tl.load(code + e, mask=inside, other=0).to(tl.int32)
            back = rows_at(grad, target, inside, d, D, G_STRIDE)
            if HAS_WEIGHT:
                w = tl.load(weight + e, mask=inside, other=0.0).to(tl.float32)
                back *= w[:, :, None]
            bond = rows_at(table, replica * C + kind, inside, d, D, D)
            back = tl.where(own[:, None, :] + bond > 0.0, back, 0.0)  # [BR, AHEAD, BD]
            acc += tl.sum(back, 1)
            more = ()
            for k in tl.static_range(KINDS):
                hot = (kind == first + k).to(tl.float32)
                more = more + (of_table[k] + tl.sum(back * hot[:, :, None], 1),)
            of_table = more
        if first == 0:
            tl.store(dx + i[:, None] * D + d[None, :], acc.to(dx.dtype.element_ty), mask=inside_row)
    row = (replica * tl.num_programs(0) + p) * C + first
    for k in tl.static_range(KINDS):
        at = parts + (row + k) * D + d
        tl.store(at, tl.sum(of_table[k], 0), mask=(d < D) & (first + k < C))


def _inputs(x: Tensor, table: Tensor, code: Tensor, weight: Tensor | None) -> tuple[Any, ...]:
    """As the kernels read them; weights that are not there are never read."""
    w = x if weight is None else weight.contiguous()
    return x, table.contiguous(), code.contiguous(), w


def forward(
    x: Tensor, table: Tensor, code: Tensor, weight: Tensor | None, rowptr: Tensor, col: Tensor
) -> Tensor:
    """x [N, D], table [R, C, D], code, weight and col [E], rowptr [N+1] -> [N, D]"""
    (N, D), (R, C, _), x = x.shape, table.shape, rowwise(x)
    if N * C * D == 0:
        return x.new_zeros(N, D)
    y, rows_each = x.new_empty(N, D), N // R
    rows, columns, ahead = block_shape(N, col.shape[0], D, MAX_AHEAD)
    with on_device(x):
        bond_messages_forward[(triton.cdiv(rows_each, rows), R, triton.cdiv(D, columns))](
            *_inputs(x, table, code, weight), rowptr, col, y, rows_each,
            D, C, x.stride(0), weight is not None, rows, columns, ahead, num_warps=WARPS,
        )  # fmt: skip
    return y


def backward(
    x: Tensor, table: Tensor, code: Tensor, weight: Tensor | None, rowptr: Tensor, col: Tensor,
    grad: Tensor,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(∂x [N, D], ∂T [R, C, D])"""
    (N, D), (R, C, _), x, grad = x.shape, table.shape, rowwise(x), rowwise(grad)
    if N * C * D == 0:
        return x.new_zeros(N, D), torch.zeros_like(table)
    dx, rows_each = x.new_empty(N, D), N // R
    rows, columns, ahead = block_shape(N, col.shape[0], D, MAX_AHEAD_BACKWARD)
    blocks, groups = triton.cdiv(rows_each, rows), triton.cdiv(C, MAX_KINDS)
    run = triton.cdiv(blocks, max(1, num_programs(x.device, PROGRAMS_PER_SM) // R))
    programs = triton.cdiv(blocks, run)
    parts = x.new_empty(R, programs, C, D, dtype=torch.float32)
    with on_device(x):
        bond_messages_backward[(programs, R, groups * triton.cdiv(D, columns))](
            *_inputs(x, table, code, weight), rowptr, col, grad, dx, parts, rows_each, run,
            D, C, x.stride(0), grad.stride(0), weight is not None, rows, columns, ahead,
            triton.cdiv(C, groups), num_warps=WARPS,
        )  # fmt: skip
    return dx, parts.sum(1).to(table.dtype)
