"""Triton's sparse product against the reference."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import triton_checks
from torch import Tensor
from triton_checks import assert_as_exact, low_and_exact, with_gradients

from gmpool.ops.sparse import Pattern, spmm
from gmpool.ops.sparse.reference import spmm_reference

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
    from gmpool.ops.sparse import triton as kernels

    monkeypatch.setattr(kernels, "SPLIT_ENTRIES", 0)
    monkeypatch.setattr(kernels, "SPLIT_DEGREE", 64)
    columns = 7 + 2 * max(degrees)
    pattern = pattern_of(degrees, columns, index, device)
    low, exact = low_and_exact([(columns, width), (sum(degrees),)], dtype, device)

    def run(f: Callable[..., Tensor], x: Tensor, w: Tensor) -> list[Tensor]:
        return with_gradients([f(pattern, x, w.detach() if weighted else None)], [x])

    assert_as_exact(run(spmm, *low), run(spmm_reference, *low), run(spmm_reference, *exact))


def test_small_tiles_as_in_a_captured_program(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from gmpool.ops.sparse import triton as kernels

    monkeypatch.setattr(kernels, "_tiles", lambda *_: (True, kernels.SMALL_TILE))
    degrees = [63, 0, 130, 64, 3, 1000, 0, 200]
    pattern = pattern_of(degrees, 50, torch.int64, device)
    low, exact = low_and_exact([(50, 5), (sum(degrees),)], torch.float32, device)

    def run(f: Callable[..., Tensor], x: Tensor, w: Tensor) -> list[Tensor]:
        return with_gradients([f(pattern, x, w.detach())], [x])

    assert_as_exact(run(spmm, *low), run(spmm_reference, *low), run(spmm_reference, *exact))


def test_which_matrices_are_split() -> None:
    from gmpool.ops.sparse import triton as kernels

    few, many = kernels.SPLIT_ENTRIES - 1, kernels.SPLIT_ANYWAY
    x = torch.zeros(1)
    assert kernels._tiles(x, 1, few) == (False, kernels.TILE)
    assert kernels._tiles(x, many, many) == (True, kernels.TILE)
    assert kernels._tiles(x, 8, 8 * 512) == (True, kernels.TILE)
    assert kernels._tiles(x, 8 * 512, 8 * 512) == (False, kernels.TILE)
