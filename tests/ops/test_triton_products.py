"""Triton's sparse products, and sums over the nodes of graphs, against the references."""

from __future__ import annotations

from collections.abc import Callable
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

from gmpool.ops.grouped import (
    collect,
    collect_reference,
    match,
    match_reference,
    spread,
    spread_reference,
)
from gmpool.ops.sparse import Pattern, spmm, spmm_reference

pytest.importorskip("triton")
device = triton_checks.device


def pattern_of(degrees: list[int], columns: int, index: torch.dtype, device: str) -> Pattern:
    torch.manual_seed(3)
    counts = torch.tensor(degrees)
    row = torch.repeat_interleave(torch.arange(len(degrees)), counts)
    col = torch.randint(columns, (len(row),))
    to_t = torch.argsort(col, stable=True)
    zero = torch.zeros(1, dtype=torch.long)
    ends = torch.cat([zero, counts.cumsum(0)])
    t_ends = torch.cat([zero, torch.bincount(col, minlength=columns).cumsum(0)])
    parts = (ends, col, t_ends, row[to_t], to_t, torch.argsort(to_t))
    return Pattern(*(t.to(index).to(device) for t in parts))


@pytest.mark.parametrize(
    ("degrees", "width", "dtype", "index"),
    [
        ([0, 5, 1, 9, 0, 2], 1, torch.float32, torch.int64),
        ([0, 5, 1, 9, 0, 2], 3, torch.float32, torch.int32),
        ([4] * 9, 63, torch.float32, torch.int64),
        ([4] * 9, 20, torch.bfloat16, torch.int64),
        ([2], 500, torch.float32, torch.int64),
        ([511, 0, 1030, 1024, 3, 512], 4, torch.float32, torch.int32),
        ([2000], 5, torch.float16, torch.int64),
    ],
)
@pytest.mark.parametrize("weighted", [True, False])
def test_spmm(
    degrees: list[int],
    width: int,
    dtype: torch.dtype,
    index: torch.dtype,
    weighted: bool,
    device: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from gmpool.ops import triton_spmm

    monkeypatch.setattr(triton_spmm, "SPLIT_ENTRIES", 0)
    monkeypatch.setattr(triton_spmm, "SPLIT_DEGREE", 64)
    columns = 7 + 2 * max(degrees)
    pattern = pattern_of(degrees, columns, index, device)
    low, exact = low_and_exact([(columns, width), (sum(degrees),)], dtype, device)

    def run(f: Callable[..., Tensor], x: Tensor, w: Tensor) -> list[Tensor]:
        return with_gradients([f(pattern, x, w.detach() if weighted else None)], [x])

    assert_as_exact(run(spmm, *low), run(spmm_reference, *low), run(spmm_reference, *exact))


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
