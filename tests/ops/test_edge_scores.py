"""Scores of edges against their references: values and gradients."""

from __future__ import annotations

import pytest
import torch
from graphs import random_batch
from torch.autograd import gradcheck

from gmpool.graph.matrices import SparseMatrix
from gmpool.ops.edge_scores import (
    row_softmax,
    row_softmax_reference,
    sum_of_ends,
    sum_of_ends_reference,
)
from gmpool.ops.sparse import Pattern


def a_pattern(sizes: list[int]) -> tuple[Pattern, int]:
    batch = random_batch(sizes, 1, directed=True)
    return SparseMatrix.from_edge_index(batch.edge_index, len(batch.x))[0].pattern, len(batch.x)


@pytest.mark.parametrize("sizes", [[6, 0, 1, 4], [1], [0]])
def test_values_equal_the_references(sizes: list[int]) -> None:
    torch.manual_seed(0)
    pattern, n = a_pattern(sizes)
    a, b = torch.randn(2, n, dtype=torch.float64)
    total = sum_of_ends(pattern, a, b)
    assert torch.equal(total, sum_of_ends_reference(pattern, a, b))
    soft = row_softmax(pattern, 50 * total)
    torch.testing.assert_close(soft, row_softmax_reference(pattern, 50 * total))


def test_gradients() -> None:
    torch.manual_seed(0)
    pattern, n = a_pattern([5, 0, 1, 4])
    a, b = (torch.randn(n, dtype=torch.float64, requires_grad=True) for _ in range(2))
    scores = torch.randn(len(pattern.col), dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda a, b: sum_of_ends(pattern, a, b), (a, b))
    assert gradcheck(lambda s: row_softmax(pattern, s), (scores,))


def test_softmax_of_large_scores_is_finite() -> None:
    pattern, _ = a_pattern([5])
    soft = row_softmax(pattern, torch.full((len(pattern.col),), 1e30))
    assert torch.isfinite(soft).all()
