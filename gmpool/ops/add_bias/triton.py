"""z + b and ReLU(z + b) on the GPU: see operator.py.

    forward   a program takes a block of rows and columns of one replica
    backward  a program does so for several blocks of rows, one after the other, and adds up what
              they give to ∂b. Each leaves one part of it; the parts are added after.
No two programs write to one place, and sums are in the same order in every run.
"""

# Triton reads a kernel's annotations itself, and is an optional package without types.
# mypy: allow-untyped-defs, disable-error-code="import-untyped, import-not-found"
from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from gmpool.ops.kernel_parts.launch import block_of, num_programs, on_device, rowwise

BLOCK, MAX_WIDTH, WARPS = 4096, 128, 4
PROGRAMS_PER_SM = 8


@triton.jit(do_not_specialize=["rows_each"])
def add_bias_forward(
    z, bias, y, rows_each,
    D: tl.constexpr, STRIDE: tl.constexpr, RELU: tl.constexpr, BR: tl.constexpr, BD: tl.constexpr,
):  # fmt: skip
    replica = tl.program_id(1).to(tl.int64)
    local = tl.program_id(0) * BR + tl.arange(0, BR)
    d = tl.program_id(2) * BD + tl.arange(0, BD)
    i = (replica * rows_each + local)[:, None]
    inside = (local < rows_each)[:, None] & (d < D)[None, :]
    b = tl.load(bias + replica * D + d, mask=d < D, other=0.0).to(tl.float32)
    total = tl.load(z + i * STRIDE + d[None, :], mask=inside, other=0.0).to(tl.float32) + b[None, :]
    if RELU:
        total = tl.where(total < 0.0, 0.0, total)  # lets NaN through, as torch.relu does
    tl.store(y + i * D + d[None, :], total.to(y.dtype.element_ty), mask=inside)


@triton.jit(do_not_specialize=["rows_each", "run"])
def add_bias_backward(
    y, grad, dz, parts, rows_each, run,
    D: tl.constexpr, STRIDE: tl.constexpr, BR: tl.constexpr, BD: tl.constexpr,
):  # fmt: skip
    p, replica = tl.program_id(0), tl.program_id(1).to(tl.int64)
    d = tl.program_id(2) * BD + tl.arange(0, BD)
    total = tl.zeros([BR, BD], tl.float32)
    for block in range(p * run, tl.minimum((p + 1) * run, tl.cdiv(rows_each, BR))):
        local = block * BR + tl.arange(0, BR)
        i = (replica * rows_each + local)[:, None]
        inside = (local < rows_each)[:, None] & (d < D)[None, :]
        out = tl.load(y + i * D + d[None, :], mask=inside, other=0.0)
        g = tl.load(grad + i * STRIDE + d[None, :], mask=inside, other=0.0).to(tl.float32)
        g = tl.where(out > 0.0, g, 0.0)
        tl.store(dz + i * D + d[None, :], g.to(dz.dtype.element_ty), mask=inside)
        total += g
    at = parts + (replica * tl.num_programs(0) + p) * D + d
    tl.store(at, tl.sum(total, 0), mask=d < D)


def forward(z: Tensor, bias: Tensor, relu: bool) -> Tensor:
    """z [R·n, D], bias [R, D] -> [R·n, D]"""
    (N, D), R, z = z.shape, bias.shape[0], rowwise(z)
    y, rows_each, columns = z.new_empty(N, D), N // R, block_of(D, MAX_WIDTH)
    if y.numel() == 0:
        return y
    rows = BLOCK // columns
    with on_device(z):
        add_bias_forward[(triton.cdiv(rows_each, rows), R, triton.cdiv(D, columns))](
            z, bias.contiguous(), y, rows_each, D, z.stride(0), relu, rows, columns,
            num_warps=WARPS,
        )  # fmt: skip
    return y


def backward(y: Tensor, grad: Tensor, R: int) -> tuple[Tensor, Tensor]:
    """(∂z [R·n, D], ∂b [R, D]) of a ReLU whose values were y"""
    (N, D), y, grad = y.shape, y.contiguous(), rowwise(grad)
    if y.numel() == 0:
        return torch.zeros_like(y), y.new_zeros(R, D)
    dz, rows_each, columns = y.new_empty(N, D), N // R, block_of(D, MAX_WIDTH)
    rows = BLOCK // columns
    blocks = triton.cdiv(rows_each, rows)
    run = triton.cdiv(blocks, max(1, num_programs(y.device, PROGRAMS_PER_SM) // R))
    programs = triton.cdiv(blocks, run)
    parts = y.new_empty(R, programs, D, dtype=torch.float32)
    with on_device(y):
        add_bias_backward[(programs, R, triton.cdiv(D, columns))](
            y, grad, dz, parts, rows_each, run, D, grad.stride(0), rows, columns, num_warps=WARPS,
        )  # fmt: skip
    return dz, parts.sum(1).to(y.dtype)
