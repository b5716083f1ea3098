"""Three ways of one step: PyTorch's fused kernel row by row, plain operators, Triton's kernel."""

from __future__ import annotations

import os

import pytest
import torch
from torch import Tensor

from gmpool.ops.adam import Pace
from gmpool.ops.adam.pytorch import update, update_by_row

R, P = 4, 2500


def state() -> tuple[list[Tensor], Pace]:
    """Weights, gradients and moments; replica 2 is not active, and its gradient is NaN."""
    generator = torch.Generator().manual_seed(0)
    tensors = [torch.randn(R, P, generator=generator) for _ in range(4)]
    tensors[3].abs_()  # the second moment is one of squares
    tensors[1][2] = float("nan")
    numbers = torch.tensor([[1.0, 0.3, 1.0, 0.9], [0.0, 0.1, 0.0, 0.01], [0.1, 0.2, 0.3, 0.0]])
    clock = torch.tensor([1.0, 7.0, 3.0, 500.0], dtype=torch.float64)
    active = torch.tensor([True, True, False, True])
    return tensors, Pace(active, *numbers.double(), clock)


def test_plain_operators_do_what_the_fused_kernel_does() -> None:
    before, pace = state()
    ours, theirs = ([t.clone() for t in before] for _ in range(2))
    update(*ours, pace)
    update_by_row(*theirs, pace)
    for k in (0, 2, 3):
        torch.testing.assert_close(ours[k], theirs[k])
        assert torch.equal(ours[k][2], before[k][2]), "who is not active stays"
    assert not torch.equal(ours[0][0], before[0][0])


def test_the_kernel_does_what_the_operators_do() -> None:
    pytest.importorskip("triton")
    if not torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("no CUDA device, and kernels are compiled in this process")
    from gmpool.ops.adam.triton import update as update_by_triton

    device = "cuda" if torch.cuda.is_available() else "cpu"
    before, pace = state()
    expected, found = [t.clone() for t in before], [t.to(device).clone() for t in before]
    update(*expected, pace)
    update_by_triton(*found, Pace(*(t.to(device) for t in pace[:5])))
    for k in (0, 2, 3):
        torch.testing.assert_close(found[k].cpu(), expected[k])
        assert torch.equal(found[k][2].cpu(), before[k][2])
