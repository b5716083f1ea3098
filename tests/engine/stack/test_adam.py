"""Three ways of one step: PyTorch's fused kernel row by row, plain operators, Triton's kernel."""

from __future__ import annotations

import os

import pytest
import torch
from torch import Tensor

from gmpool.config import TrainConfig
from gmpool.engine.schedule import cosine_with_warmup
from gmpool.engine.stack.adam import BETA1, BETA2, EPS, Adam, Pace, update, update_by_row

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
    from gmpool.ops.triton_adam import adam_step

    device = "cuda" if torch.cuda.is_available() else "cpu"
    before, pace = state()
    expected, found = [t.clone() for t in before], [t.to(device).clone() for t in before]
    update(*expected, pace)
    t = pace.clock
    numbers = (pace.clip, pace.decay, pace.rate / (1 - BETA1**t), (1 - BETA2**t).sqrt())
    clip, decay, size, root = (n.float().to(device) for n in numbers)
    weights, grads, first, second = found
    adam_step(
        weights,
        grads,
        (first, second),
        pace.active.to(device),
        (clip, decay, size, root),
        (BETA1, BETA2, EPS),
    )
    for k in (0, 2, 3):
        torch.testing.assert_close(found[k].cpu(), expected[k])
        assert torch.equal(found[k][2].cpu(), before[k][2])


def test_the_schedule_is_that_of_a_run_alone() -> None:
    configs = [TrainConfig(epochs=10, warmup_epochs=2), TrainConfig(epochs=4, warmup_epochs=0)]
    steps = torch.tensor([3, 2])
    adam = Adam.start(torch.zeros(2, 1), configs, steps)
    for step in range(35):
        adam.clock.fill_(step)
        alone = [
            cosine_with_warmup(step, warmup=c.warmup_epochs * s, total=c.epochs * s)
            for c, s in zip(configs, steps.tolist(), strict=True)
        ]
        # A run that is over takes no more steps, whatever the factor would be.
        for r, (factor, c, s) in enumerate(zip(alone, configs, steps.tolist(), strict=True)):
            if step <= c.epochs * s:
                assert float(adam.factor()[r]) == pytest.approx(factor, abs=1e-12)
