"""Compiles the kernels for a GPU that is not there: run as a script, without Triton's interpreter.

The operators run on CPU tensors as they would on a GPU, but a launch only compiles the kernel for
compute capability 9.0. Prints the operator and the name of each kernel that was compiled.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction

from gmpool.ops import choice
from gmpool.ops.adam import Pace
from gmpool.ops.adam.triton import update
from gmpool.ops.add_bias import add_bias
from gmpool.ops.bond_messages import bond_messages
from gmpool.ops.dense_product import DenseGraphs, dense_product
from gmpool.ops.directed_messages import directed_messages
from gmpool.ops.grouped import collect, match, spread
from gmpool.ops.seed_attention import seed_attention
from gmpool.ops.segment import Segments
from gmpool.ops.sparse import Pattern, spmm


class NoDevice:
    """What Triton asks its driver for before a kernel is compiled."""

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)


def compile_only(kernel: JITFunction, grid: Any) -> Any:
    def launch(*args: Any, **options: Any) -> None:
        kernel.warmup(*args, grid=grid, **options)
        print(kernel.fn.__module__.split(".")[2], kernel.fn.__name__, flush=True)

    return launch


def attention(widths: list[int], heads: int, seeds: int, axis: str) -> None:
    """Forward and backward of two replicas' seed attention."""
    R, N, B, D = 2, 40, 3, sum(widths)
    z = torch.randn(R, N, D, requires_grad=True)
    m = torch.randn(R, D, heads * seeds, requires_grad=True)
    c = torch.randn(R, heads * seeds, requires_grad=True)
    segments = Segments.from_batch(torch.arange(N) * B // N, N, None, B)

    def one(z: Tensor, m: Tensor, c: Tensor) -> Tensor:
        blocks = list(z.split(widths, dim=1))
        pooled, mass, _ = seed_attention(blocks, m, c, segments, heads, axis, want_a=False)
        return sum(part.sum() for part in pooled) + mass.sum()

    torch.vmap(one)(z, m, c).sum().backward()


def bonds(width: int, kinds: int, weighted: bool) -> None:
    """Forward and backward of two replicas' messages, with four entries in each row."""
    R, N = 2, 20
    rowptr, col = torch.arange(0, 4 * N + 1, 4), torch.arange(4 * N) // 4
    code = torch.zeros(4 * N, dtype=torch.uint8)
    weight = torch.rand(4 * N) if weighted else None
    x = torch.randn(R, N, width, requires_grad=True)
    table = torch.randn(R, kinds, width, requires_grad=True)

    def one(x: Tensor, table: Tensor) -> Tensor:
        return bond_messages(Pattern(rowptr, col, rowptr, col), x, table, code, weight)

    torch.vmap(one)(x, table).sum().backward()


def directed_bonds(width: int, kinds: int, dtype: torch.dtype) -> None:
    """Forward and backward of two replicas' messages between pairs of neighbours, with what was
    heard before and without."""
    R, N = 2, 20
    rowptr, back = torch.arange(0, 4 * N + 1, 4), torch.arange(4 * N) ^ 1
    code = torch.zeros(4 * N, dtype=torch.uint8)
    own, table, g = (torch.randn(R, n, width, dtype=dtype) for n in (N, kinds, 4 * N))

    def one(own: Tensor, table: Tensor, g: Tensor | None) -> Tensor:
        return directed_messages(own, table, code, g, rowptr, back)

    first = torch.vmap(partial(one, g=None))(own.requires_grad_(), table)
    (first.sum() + torch.vmap(one)(own, table, g).sum()).backward()


def biases(width: int, dtype: torch.dtype) -> None:
    """Of two replicas, with the ReLU and without."""
    z, b = torch.randn(2, 40, width, dtype=dtype, requires_grad=True), torch.randn(2, width)
    for relu in (False, True):
        torch.vmap(partial(add_bias, relu=relu))(z, b.to(dtype)).sum().backward()


def dense(width: int, dtype: torch.dtype, normalised: bool) -> None:
    """One graph of 40 nodes, with two words for each."""
    ends = torch.tensor([0, 40])
    graphs = DenseGraphs(ends[:1], ends, torch.zeros(80, dtype=torch.int32), ends, ends)
    for tf32 in (False, True):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        dense_product(
            graphs, torch.randn(40, width, dtype=dtype), torch.rand(40) if normalised else None
        )


def main() -> None:
    driver.set_active(NoDevice())  # type: ignore[arg-type]
    JITFunction.__getitem__ = compile_only  # type: ignore[method-assign]
    choice.triton_serves = lambda t: t.dtype in choice.DTYPES
    attention([128], 1, 4, "seeds")  # a warp a program
    attention([64, 64], 4, 5, "seeds")
    attention([64, 64], 2, 4, "nodes")
    segments = Segments.uniform(3, 10)
    a, z = torch.randn(30, 2, 3, requires_grad=True), torch.randn(30, 16, requires_grad=True)
    o = collect(a, z, segments)
    (spread(a, o, segments).sum() + match(z, o, segments).sum()).backward()
    rowptr, E = torch.arange(0, 30_001, 1000), 30_000
    col = torch.randint(30, (E,))
    spmm(Pattern(rowptr, col, rowptr, col), z, torch.rand(E)).sum().backward()
    bonds(128, 12, weighted=True)
    bonds(33, 20, weighted=False)
    directed_bonds(128, 12, torch.float32)
    directed_bonds(33, 20, torch.bfloat16)
    biases(128, torch.float32)
    biases(33, torch.bfloat16)
    dense(128, torch.float32, normalised=True)
    dense(128, torch.bfloat16, normalised=True)
    dense(128, torch.float32, normalised=False)
    dense(33, torch.float16, normalised=True)
    dense(7, torch.float32, normalised=False)
    weights, numbers = torch.randn(2, 100), torch.rand(2)
    update(weights, weights, weights, weights, Pace(numbers > 0, *(numbers,) * 4))


if __name__ == "__main__":
    main()
