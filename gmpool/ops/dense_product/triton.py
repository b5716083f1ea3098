"""The product with the adjacency of dense graphs on the GPU: see operator.py for what it means.

A program has ROWS rows of one graph and walks along its columns, a word of 32 at a time: bits
become a tile of zeros and ones, which is multiplied with 32 rows of x on the matrix units. Zeros
and ones are exact in every format, so that x alone has to be cut: a float32 number is a sum of
three bfloat16 numbers, and two of them hold more of it than a tf32 number does.
"""

# Triton reads a kernel's annotations itself, and is an optional package without types.
# mypy: allow-untyped-defs, disable-error-code="import-untyped, import-not-found"
from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from gmpool.ops import choice
from gmpool.ops.dense_product.reference import DenseGraphs
from gmpool.ops.kernel_parts.launch import on_device, precision, rowwise
from gmpool.ops.replicas import once

ROWS = 64  # what four warps multiply at once
WORD = tl.constexpr(32)
ONE, UPPER_HALF = tl.constexpr(0x3F800000), tl.constexpr(-(2**16))  # 1.0, and a mask
MIN_COLUMNS, MAX_COLUMNS = 16, 128  # of one program
# Three programs share a multiprocessor's registers; without the bound the compiler takes so many
# that two do.
LAUNCH = {"num_warps": 4, "num_stages": 2, "maxnreg": 168}


@triton.jit
def _operand(bits, COMPILED: tl.constexpr):
    """Float32 numbers whose lower halves are 0, given as integers, as bfloat16 ones. Triton's
    interpreter cannot multiply those, and gets them as they are."""
    if COMPILED:
        numbers = (bits >> 16).to(tl.int16).to(tl.bfloat16, bitcast=True)
    else:
        numbers = bits.to(tl.float32, bitcast=True)
    return numbers


@triton.jit
def _ones_at(word, j, i, LOOPS: tl.constexpr, COMPILED: tl.constexpr):
    """Columns j of A, or of A + I, in the rows i, whose bits are in `word`. [32, ROWS]"""
    ones = (word[None, :] >> tl.arange(0, WORD)[:, None]) & 1
    if LOOPS:
        ones |= (i[None, :] == j[:, None]).to(tl.int32)
    return _operand(ones * ONE, COMPILED)


@triton.jit
def _add_product(acc, ones, x, PARTS: tl.constexpr, COMPILED: tl.constexpr):
    """acc + onesᵀ · x, with x [32, BD] cut into so many bfloat16 numbers."""
    for _ in tl.static_range(PARTS):
        upper = x.to(tl.int32, bitcast=True) & UPPER_HALF
        acc = tl.dot(tl.trans(ones), _operand(upper, COMPILED), acc)
        x -= upper.to(tl.float32, bitcast=True)
    return acc


@triton.jit
def dense_product_tiles(
    x, scale, ids, ptr, words, word_ptr, node_ptr, graph_of, y,
    D: tl.constexpr, STRIDE: tl.constexpr, NORMALISED: tl.constexpr, PARTS: tl.constexpr,
    COMPILED: tl.constexpr, BR: tl.constexpr, BD: tl.constexpr,
):  # fmt: skip
    tile = tl.program_id(0)
    b = tl.load(graph_of + tile)
    start = tl.load(ptr + b).to(tl.int64)
    size = (tl.load(ptr + b + 1) - start).to(tl.int32)
    above = ((tile - start // BR - b) * BR).to(tl.int32)  # rows of the graph before these
    if above < size:
        # Where the graph begins in each tensor; inside of it 32 bits suffice.
        g = tl.load(ids + b)
        first = tl.load(node_ptr + g)
        n = (tl.load(node_ptr + g + 1) - first).to(tl.int32)  # 0 where the nodes are made up
        x += start * STRIDE
        y += start * D
        scale += first
        words += tl.load(word_ptr + g)
        d = tl.program_id(1) * BD + tl.arange(0, BD)
        i = above + tl.arange(0, BR)
        acc = tl.zeros([BR, BD], tl.float32)
        for k in range(tl.cdiv(n, WORD)):
            j = k * WORD + tl.arange(0, WORD)
            rows = tl.load(
                x + j[:, None] * STRIDE + d[None, :],
                mask=(j < n)[:, None] & (d < D)[None, :], other=0.0,
            ).to(tl.float32)  # fmt: skip
            if NORMALISED:
                rows *= tl.load(scale + j, mask=j < n, other=0.0)[:, None]
            word = tl.load(words + k * n + i, mask=i < n, other=0)
            ones = _ones_at(word, j, i, NORMALISED, COMPILED)
            acc = _add_product(acc, ones, rows, PARTS, COMPILED)
        if NORMALISED:
            acc *= tl.load(scale + i, mask=i < n, other=0.0)[:, None]
        written = (i < size)[:, None] & (d < D)[None, :]
        tl.store(y + i[:, None] * D + d[None, :], acc.to(y.dtype.element_ty), mask=written)


def _graph_of_tile(ptr: Tensor, tiles: int) -> Tensor:
    """Graph b owns the tiles ptr[b] // ROWS + b … ptr[b+1] // ROWS + b (kernel_parts/chunks.py)."""
    first = ptr[:-1] // ROWS + torch.arange(ptr.shape[0] - 1, device=ptr.device)
    tile = torch.arange(tiles, device=ptr.device)
    return torch.searchsorted(first, tile, right=True).sub_(1)


def product(graphs: DenseGraphs, x: Tensor, scale: Tensor | None) -> Tensor:
    """x [N, D] -> [N, D]"""
    (N, D), x = x.shape, rowwise(x)
    y, ptr = x.new_empty(N, D), graphs.ptr
    tiles = N // ROWS + ptr.shape[0] - 1
    graph_of = once(ptr, ("graph of tile", ROWS), lambda: _graph_of_tile(ptr, tiles))
    width = max(MIN_COLUMNS, min(triton.next_power_of_2(D), MAX_COLUMNS))
    parts = 3 if precision(x.dtype) == "tf32x3" else 2
    s = x if scale is None else scale  # never read where there is none
    with on_device(x):
        dense_product_tiles[(tiles, triton.cdiv(D, width))](
            x, s, graphs.ids, ptr, graphs.words, graphs.word_ptr, graphs.node_ptr, graph_of, y,
            D, x.stride(0), scale is not None, parts, not choice.INTERPRET, ROWS, width, **LAUNCH,
        )  # fmt: skip
    return y
