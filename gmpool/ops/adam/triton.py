"""Adam for R replicas in one pass over weights, gradients and moments."""

# Triton reads a kernel's annotations itself, and is an optional package without types.
# mypy: allow-untyped-defs, disable-error-code="import-untyped, import-not-found"
from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from gmpool.ops.adam.pytorch import EPS, Pace
from gmpool.ops.kernel_parts.launch import on_device

BLOCK = 2048


@triton.jit
def adam_update(
    weights, grads, first, second, active, clip, decay, size, root, P,
    BETA1: tl.constexpr, BETA2: tl.constexpr, EPS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """One program moves BLOCK weights of one replica."""
    r = tl.program_id(0)
    if tl.load(active + r) == 0:
        return
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < P
    at = r.to(tl.int64) * P + column
    w = tl.load(weights + at, mask=inside)
    g = tl.load(grads + at, mask=inside) * tl.load(clip + r) + tl.load(decay + r) * w
    m = tl.load(first + at, mask=inside)
    m = m + (g - m) * (1 - BETA1)
    v = tl.load(second + at, mask=inside) * BETA2 + (1 - BETA2) * g * g
    step = tl.load(size + r) * m / (tl.sqrt(v) / tl.load(root + r) + EPS)
    tl.store(first + at, m, mask=inside)
    tl.store(second + at, v, mask=inside)
    tl.store(weights + at, w - step, mask=inside)


def update(weights: Tensor, grads: Tensor, first: Tensor, second: Tensor, pace: Pace) -> None:
    """In place; all [R, P]."""
    R, P = weights.shape
    columns = pace.columns(weights.dtype)
    with on_device(weights):
        adam_update[R, triton.cdiv(P, BLOCK)](
            weights, grads, first, second, pace.active.int(), *columns, P,
            *pace.betas, EPS, BLOCK,
        )  # fmt: skip
