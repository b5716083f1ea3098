"""spmm on the GPU: y_i = Σ_e w_e x_{col e} over the entries e of row i.

Three kernels, none of which looks at a value to decide how many programs there are:
    rows   a program takes some rows and a block of columns and walks along their entries
    tiles  entries t·TILE … (t+1)·TILE that lie in one row are summed at once [E/TILE, D]
    long   a row that holds whole tiles: the sums of its tiles, and what is left before and after
So no program walks more than 2·TILE entries one after the other, whatever the degrees, and sums
are in the same order in every run.

In a captured program, where a launch costs next to nothing, small matrices are split as well, into
small tiles: what fills a batch up to its bounds is often one long row.
"""

# Triton reads a kernel's annotations itself, and is an optional package without types.
# mypy: allow-untyped-defs, disable-error-code="import-untyped, import-not-found"
from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from gmpool.ops.kernel_parts.launch import on_device, rowwise

TILE, SMALL_TILE = 512, 64
# Long rows cost two more launches; with fewer entries than this, or rows this short on average in
# a small matrix, they are not looked for, unless launches are cheap.
SPLIT_ENTRIES, SPLIT_ANYWAY, SPLIT_DEGREE = 8 * TILE, 32 * TILE, 64
SPLIT_CAPTURED = 8 * SMALL_TILE
WARPS = 4
BLOCK = 4 * 32 * WARPS  # numbers of a block of rows: one 16-byte load for each thread
MAX_WIDTH = 128  # columns of one program
MAX_AHEAD = 16  # entries of a row that are loaded at once
TILE_AHEAD = tl.constexpr(16)


@triton.jit
def _weighted(
    x, col, weight, e, inside, d, D: tl.constexpr, STRIDE: tl.constexpr, HAS_WEIGHT: tl.constexpr
):
    """w_e x_{col e} at the columns d; e, inside [...], d [1 …, BD] -> [..., BD]"""
    j = tl.load(col + e, mask=inside, other=0).to(tl.int64)
    rows = tl.load(
        x + tl.expand_dims(j, -1) * STRIDE + d, mask=tl.expand_dims(inside, -1) & (d < D), other=0.0
    ).to(tl.float32)
    if HAS_WEIGHT:
        w = tl.load(weight + e, mask=inside, other=0.0).to(tl.float32)
        rows *= tl.expand_dims(w, -1)
    return rows


@triton.jit(do_not_specialize=["M"])
def spmm_rows(
    x, weight, rowptr, col, y, M, D: tl.constexpr, STRIDE: tl.constexpr,
    SPLIT: tl.constexpr, HAS_WEIGHT: tl.constexpr, BR: tl.constexpr, BD: tl.constexpr,
    AHEAD: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0).to(tl.int64) * BR + tl.arange(0, BR)
    d = tl.program_id(1) * BD + tl.arange(0, BD)
    start = tl.load(rowptr + i, mask=i < M, other=0).to(tl.int64)
    end = tl.load(rowptr + i + 1, mask=i < M, other=0).to(tl.int64)
    if SPLIT:
        long = tl.cdiv(start, TILE) * TILE + TILE <= end
        end = tl.where(long, start, end)
    else:
        long = i < 0
    acc = tl.zeros([BR, BD], tl.float32)
    # Columns, then rows are spread over threads: a thread sums several entries of one row.
    ahead = tl.arange(0, AHEAD)[None, :]
    for step in range(tl.cdiv(tl.max(end - start, 0), AHEAD)):
        e = start[:, None] + step * AHEAD + ahead
        terms = _weighted(
            x, col, weight, e, e < end[:, None], d[None, None, :], D, STRIDE, HAS_WEIGHT
        )
        acc += tl.sum(terms, 1)
    written = (i < M) & ~long
    at = y + i[:, None] * D + d[None, :]
    tl.store(at, acc.to(y.dtype.element_ty), mask=written[:, None] & (d < D)[None, :])


@triton.jit
def _row_of(rowptr, M, e):
    """The row of entry e: the last i with rowptr[i] <= e."""
    low = e * 0
    high = low + M - 1
    while low < high:
        middle = (low + high + 1) // 2
        inside = tl.load(rowptr + middle).to(tl.int64) <= e
        low = tl.where(inside, middle, low)
        high = tl.where(inside, high, middle - 1)
    return low


@triton.jit
def _sum_entries(
    x, weight, col, first, last, d,
    D: tl.constexpr, STRIDE: tl.constexpr, HAS_WEIGHT: tl.constexpr, BD: tl.constexpr,
):  # fmt: skip
    """Σ of the entries first … last - 1 at the columns d. [BD]"""
    acc = tl.zeros([TILE_AHEAD, BD], tl.float32)
    for step in range(tl.cdiv(last - first, TILE_AHEAD)):
        e = first + step * TILE_AHEAD + tl.arange(0, TILE_AHEAD)
        acc += _weighted(x, col, weight, e, e < last, d[None, :], D, STRIDE, HAS_WEIGHT)
    return tl.sum(acc, 0)


@triton.jit(do_not_specialize=["M"])
def spmm_tiles(
    x, weight, rowptr, col, sums, owner, M, D: tl.constexpr, STRIDE: tl.constexpr,
    HAS_WEIGHT: tl.constexpr, BD: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    t = tl.program_id(0).to(tl.int64)
    d = tl.program_id(1) * BD + tl.arange(0, BD)
    first = t * TILE
    i = _row_of(rowptr, M, first)
    whole = tl.load(rowptr + i + 1).to(tl.int64) >= first + TILE
    if whole:
        acc = _sum_entries(x, weight, col, first, first + TILE, d, D, STRIDE, HAS_WEIGHT, BD)
        tl.store(sums + t * D + d, acc, mask=d < D)
    tl.store(owner + t, tl.where(whole, i, -1))


@triton.jit
def spmm_long_rows(
    x, weight, rowptr, col, sums, owner, y, D: tl.constexpr, STRIDE: tl.constexpr,
    HAS_WEIGHT: tl.constexpr, BD: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    t = tl.program_id(0).to(tl.int64)
    d = tl.program_id(1) * BD + tl.arange(0, BD)
    i = tl.load(owner + t)
    before = tl.load(owner + t - 1, mask=t > 0, other=-1)
    if (i >= 0) & (i != before):
        start, end = tl.load(rowptr + i).to(tl.int64), tl.load(rowptr + i + 1).to(tl.int64)
        after = end // TILE  # the tile past the row's last whole one
        acc = _sum_entries(x, weight, col, start, t * TILE, d, D, STRIDE, HAS_WEIGHT, BD)
        tiles = tl.zeros([TILE_AHEAD, BD], tl.float32)
        for step in range(tl.cdiv(after - t, TILE_AHEAD)):
            s = t + step * TILE_AHEAD + tl.arange(0, TILE_AHEAD)
            inside = (s < after)[:, None] & (d < D)[None, :]
            tiles += tl.load(sums + s[:, None] * D + d[None, :], mask=inside, other=0.0)
        acc += tl.sum(tiles, 0)
        acc += _sum_entries(x, weight, col, after * TILE, end, d, D, STRIDE, HAS_WEIGHT, BD)
        tl.store(y + i * D + d, acc.to(y.dtype.element_ty), mask=d < D)


def spmm(x: Tensor, weight: Tensor | None, rowptr: Tensor, col: Tensor) -> Tensor:
    """x [N, D], weight [E] or None, rowptr [M+1], col [E] -> [M, D]"""
    M, E, D = rowptr.shape[0] - 1, col.shape[0], x.shape[1]
    if E == 0 or M * D == 0:
        return x.new_zeros(M, D)
    x = rowwise(x)
    y = x.new_empty(M, D)
    split, tile = _tiles(x, M, E)
    width = min(triton.next_power_of_2(D), MAX_WIDTH)
    ahead = min(triton.next_power_of_2(triton.cdiv(E, M)), MAX_AHEAD)
    rows = min(BLOCK // width, 32 * WARPS)
    has_weight = weight is not None
    w = x if weight is None else weight.contiguous()  # never read when there are no weights
    columns = triton.cdiv(D, width)
    with on_device(x):
        spmm_rows[(triton.cdiv(M, rows), columns)](
            x, w, rowptr, col, y, M, D, x.stride(0), split, has_weight, rows, width, ahead, tile,
            num_warps=WARPS,
        )  # fmt: skip
        if split:
            sums = x.new_empty(E // tile, D, dtype=torch.float32)
            owner = torch.empty(E // tile, dtype=torch.int64, device=x.device)
            grid = (E // tile, columns)
            shape = (D, x.stride(0), has_weight, width, tile)
            spmm_tiles[grid](x, w, rowptr, col, sums, owner, M, *shape, num_warps=WARPS)
            spmm_long_rows[grid](x, w, rowptr, col, sums, owner, y, *shape, num_warps=WARPS)
    return y


def _tiles(x: Tensor, rows: int, entries: int) -> tuple[bool, int]:
    """(whether long rows are looked for, into how many entries each they are split)"""
    if entries < SPLIT_ANYWAY and x.is_cuda and torch.cuda.is_current_stream_capturing():
        return entries >= SPLIT_CAPTURED, SMALL_TILE
    long = entries >= SPLIT_ANYWAY or entries >= SPLIT_DEGREE * rows
    return entries >= SPLIT_ENTRIES and long, TILE
