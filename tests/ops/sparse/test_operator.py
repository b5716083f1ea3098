"""spmm and sddmm against their dense references: values, first and second derivatives, replicas."""

from __future__ import annotations

import pytest
import torch
from graphs import random_batch
from torch.autograd import gradcheck, gradgradcheck

from gmpool.graph.matrices import SparseMatrix
from gmpool.ops.sparse import Pattern, sddmm, spmm
from gmpool.ops.sparse.reference import sddmm_reference, spmm_reference


def a_pattern(directed: bool = True) -> tuple[Pattern, int]:
    batch = random_batch([4, 0, 3, 1], 2, directed=directed)
    adjacency, _ = SparseMatrix.from_edge_index(batch.edge_index, len(batch.x))
    return adjacency.pattern, len(batch.x)


def doubles(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("width", [1, 3, 63])
def test_values_and_gradients_equal_the_reference(width: int) -> None:
    torch.manual_seed(0)
    pattern, n = a_pattern()
    x, y, w = doubles(n, width), doubles(n, width), doubles(len(pattern.col))
    for fast, slow in (
        (spmm(pattern, x, w), spmm_reference(pattern, x, w)),
        (spmm(pattern, x), spmm_reference(pattern, x)),
        (sddmm(pattern, x, y), sddmm_reference(pattern, x, y)),
    ):
        torch.testing.assert_close(fast, slow, atol=1e-12, rtol=1e-12)
        probe = torch.randn_like(fast)
        found = torch.autograd.grad(fast, (x, y, w), probe, allow_unused=True)
        expected = torch.autograd.grad(slow, (x, y, w), probe, allow_unused=True)
        for a, b in zip(found, expected, strict=True):
            if b is None:
                assert a is None
            else:
                torch.testing.assert_close(a, b, atol=1e-12, rtol=1e-12)


def test_derivatives_of_both_orders() -> None:
    torch.manual_seed(0)
    pattern, n = a_pattern()
    x, y, w = doubles(n, 2), doubles(n, 2), doubles(len(pattern.col))
    assert gradcheck(lambda x, w: spmm(pattern, x, w), (x, w))
    assert gradgradcheck(lambda x, w: spmm(pattern, x, w), (x, w))
    assert gradcheck(lambda a, b: sddmm(pattern, a, b), (x, y))
    assert gradgradcheck(lambda a, b: sddmm(pattern, a, b), (x, y))


def test_a_symmetric_matrix_needs_no_permutation() -> None:
    torch.manual_seed(0)
    pattern, n = a_pattern(directed=False)
    pairs = zip(pattern.rows.tolist(), pattern.col.tolist(), strict=True)
    rank = {pair: e for e, pair in enumerate(pairs)}
    w = torch.rand(len(pattern.col), dtype=torch.float64)
    for (i, j), e in rank.items():
        w[rank[j, i]] = w[e]
    short = Pattern(pattern.rowptr, pattern.col, pattern.rowptr, pattern.col)
    x = doubles(n, 3)
    probe = torch.randn(n, 3, dtype=torch.float64)
    (expected,) = torch.autograd.grad(spmm(pattern, x, w), x, probe)
    (found,) = torch.autograd.grad(spmm(short, x, w), x, probe)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("shared", [True, False], ids=["one matrix", "a matrix each"])
def test_replicas_are_a_disjoint_union(shared: bool) -> None:
    torch.manual_seed(0)
    R, (pattern, n) = 3, a_pattern()
    E = len(pattern.col)
    x = torch.randn(R, n, 4, dtype=torch.float64, requires_grad=True)
    w = torch.rand(E if shared else (R, E), dtype=torch.float64) if shared else doubles(R, E)

    def one(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return spmm(pattern, x, w)

    stacked = torch.vmap(one, in_dims=(0, None if shared else 0))(x, w)
    alone = torch.stack([one(x[r], w if shared else w[r]) for r in range(R)])
    torch.testing.assert_close(stacked, alone)
    probe = torch.randn_like(alone)
    inputs = (x,) if shared else (x, w)
    for a, b in zip(
        torch.autograd.grad(stacked, inputs, probe),
        torch.autograd.grad(alone, inputs, probe),
        strict=True,
    ):
        torch.testing.assert_close(a, b)
    y = torch.randn(R, n, 4, dtype=torch.float64)
    products = torch.vmap(lambda a, b: sddmm(pattern, a, b))(x, y)
    each = [sddmm(pattern, *pair) for pair in zip(x, y, strict=True)]
    torch.testing.assert_close(products, torch.stack(each))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_error_is_that_of_plain_torch(dtype: torch.dtype) -> None:
    """At most twice the error of the plain reference at the same precision."""
    torch.manual_seed(0)
    batch = random_batch([40, 25, 60], 33)
    adjacency, _ = SparseMatrix.from_edge_index(batch.edge_index, len(batch.x))
    w = torch.rand(batch.edge_index.shape[1], dtype=torch.float64)
    exact = spmm_reference(adjacency.pattern, batch.x, w)
    plain = spmm_reference(adjacency.pattern, batch.x.to(dtype), w.to(dtype))
    ours = spmm(adjacency.pattern, batch.x.to(dtype), w.to(dtype))
    assert ours.dtype == dtype
    assert (ours - exact).norm() <= 2 * (plain - exact).norm()


def test_no_entries_at_all() -> None:
    empty = torch.empty(0, dtype=torch.long)
    pattern = Pattern(
        torch.zeros(4, dtype=torch.long), empty, torch.zeros(4, dtype=torch.long), empty
    )
    x = torch.randn(3, 2, requires_grad=True)
    out = spmm(pattern, x, torch.empty(0))
    assert torch.equal(out, torch.zeros(3, 2))
    out.sum().backward()
    assert torch.equal(x.grad, torch.zeros(3, 2))
