"""How kernels walk along the entries of rows, a few of each at once."""

# Triton reads a kernel's annotations itself, and is an optional package without types.
# mypy: allow-untyped-defs, disable-error-code="import-untyped, import-not-found"
from __future__ import annotations

import triton
import triton.language as tl

from gmpool.ops.kernel_parts.launch import block_of
from gmpool.ops.sparse.triton import BLOCK, MAX_WIDTH

# Kinds that a program of the backward pass holds sums of, and entries of a row that it loads at
# once: as compiled for sm_90 so many need 128 registers, and more need twice as many.
MAX_KINDS, MAX_AHEAD_BACKWARD = 12, 4
PROGRAMS_PER_SM = 8


@triton.jit
def rows_at(t, row, inside, d, D: tl.constexpr, STRIDE: tl.constexpr):
    """Columns d of rows of t, 0 where there is none. row, inside [BR, AHEAD] -> [BR, AHEAD, BD]"""
    at = t + row.to(tl.int64)[:, :, None] * STRIDE + d[None, None, :]
    mask = inside[:, :, None] & (d < D)[None, None, :]
    return tl.load(at, mask=mask, other=0.0).to(tl.float32)


def block_shape(
    num_rows: int, num_entries: int, width: int, most_ahead: int
) -> tuple[int, int, int]:
    """What a program takes at once: (rows, columns, entries of each row)"""
    columns = block_of(width, MAX_WIDTH)
    mean = max(triton.cdiv(num_entries, num_rows), 1)
    return BLOCK // columns, columns, min(triton.next_power_of_2(mean), most_ahead)
