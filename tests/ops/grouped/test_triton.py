"""Triton's sums over the nodes of graphs against the references."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import triton_checks
from torch import Tensor
from triton_checks import (
    HOLES,
    MANY,
    ONE,
    PRODUCTS,
    assert_as_exact,
    batch_of,
    low_and_exact,
    with_gradients,
)

from gmpool.ops.grouped import collect, match, spread
from gmpool.ops.grouped.reference import collect_reference, match_reference, spread_reference

pytest.importorskip("triton")
device = triton_checks.device


@pytest.mark.parametrize(
    ("sizes", "H", "K", "width", "dtype"),
    [
        (MANY, 2, 3, 5, torch.float32),
        (ONE, 1, 1, 63, torch.float32),
        (HOLES, 1, 5, 3, torch.float32),
        (HOLES, 9, 8, 1, torch.float32),
        ([5, 1], 2, 20, 500, torch.float32),
        (MANY, 1, 4, 16, torch.bfloat16),
    ],
)
def test_collect_spread_and_match(
    sizes: list[int], H: int, K: int, width: int, dtype: torch.dtype, device: str
) -> None:
    segments, N = batch_of(sizes, device), sum(sizes)
    low, exact = low_and_exact([(N, H, K), (N, width), (H, len(sizes), K, width)], dtype, device)
    for op, reference, pick in (
        (collect, collect_reference, (0, 1)),
        (spread, spread_reference, (0, 2)),
        (match, match_reference, (1, 2)),
    ):

        def run(f: Any, tensors: list[Tensor], pick: tuple[int, int] = pick) -> list[Tensor]:
            pair = [tensors[i] for i in pick]
            return with_gradients([f(*pair, segments)], pair)

        assert_as_exact(run(op, low), run(reference, low), run(reference, exact), PRODUCTS)
