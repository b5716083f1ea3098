"""Maxima over neighbours against a loop, for all the ways they are computed."""

from __future__ import annotations

import pytest
import torch
from graphs import random_batch

from gmpool.graph.matrices import SparseMatrix
from gmpool.graph.neighbourhoods import with_loops
from gmpool.ops.neighbour_max import neighbour_max, neighbour_max_reference
from gmpool.ops.sparse import Pattern


def a_pattern(sizes: list[int]) -> tuple[Pattern, int]:
    batch = random_batch(sizes, 1, directed=True)
    adjacency, _ = SparseMatrix.from_edge_index(batch.edge_index, len(batch.x))
    return with_loops(adjacency).pattern, len(batch.x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("narrow", [False, True], ids=["int64", "int32"])
@pytest.mark.parametrize("width", [1, 17])
def test_values_and_gradients_equal_the_loop(dtype: torch.dtype, narrow: bool, width: int) -> None:
    torch.manual_seed(0)
    pattern, n = a_pattern([7, 1, 0, 9])
    if narrow:
        pattern = Pattern(pattern.rowptr.int(), pattern.col.int(), pattern.t_rowptr, pattern.t_col)
    # Large and tiny, of both signs; no two equal in a column.
    x = torch.randperm(n * width).view(n, width).sub(n * width // 2) * 1e-20
    x = x.to(dtype).requires_grad_()
    found, expected = neighbour_max(pattern, x), neighbour_max_reference(pattern, x)
    assert torch.equal(found, expected)
    assert found.dtype == dtype
    probe = torch.randn_like(found)
    (a,), (b,) = (torch.autograd.grad(y, x, probe) for y in (found, expected))
    # The loop adds up in bfloat16, neighbour_max in float32.
    torch.testing.assert_close(a, b, atol=0.05 if dtype == torch.bfloat16 else 1e-6, rtol=1e-6)


def test_of_equal_neighbours_one_gets_the_gradient() -> None:
    pattern, n = a_pattern([6])
    x = torch.zeros(n, 3, requires_grad=True)
    y = neighbour_max(pattern, x)
    assert torch.equal(y, torch.zeros(n, 3))
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert gradient.sum() == 3 * n
    assert torch.equal(gradient, gradient.round())


def test_negative_zero_and_the_smallest_numbers() -> None:
    pattern = Pattern(torch.tensor([0, 3]), torch.tensor([0, 1, 2]), *[torch.zeros(0)] * 2)
    tiny = torch.finfo(torch.float32).smallest_normal
    x = torch.tensor([[-tiny, -0.0, -3.4e38], [tiny, -1.0, -3.4e38], [0.0, -tiny, 3.4e38]])
    assert neighbour_max(pattern, x).tolist() == x.max(0, keepdim=True).values.tolist()


def test_no_rows() -> None:
    pattern, n = a_pattern([0])
    assert neighbour_max(pattern, torch.zeros(n, 3)).shape == (0, 3)
