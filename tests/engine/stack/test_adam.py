"""Adam of many replicas has the schedule of a run alone; tests/ops/adam has its steps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
import torch

from gmpool.config import TrainConfig
from gmpool.engine.mover import SCHEDULED
from gmpool.engine.stack.adam import Adam
from gmpool.tasks.trainable import Phase


def test_the_schedule_is_that_of_a_run_alone() -> None:
    configs = [
        TrainConfig(epochs=10, warmup_epochs=2),
        TrainConfig(epochs=4, warmup_epochs=0),
        TrainConfig(epochs=10, warmup_epochs=2, schedule="exponential"),
        TrainConfig(epochs=4, warmup_epochs=0, schedule="exponential"),
        TrainConfig(epochs=2, warmup_epochs=3, schedule="exponential"),
    ]
    steps = torch.tensor([3, 2, 3, 2, 4])
    adam = Adam.start(torch.zeros(len(configs), 1), configs, steps, Phase())
    for step in range(35):
        adam.clock.fill_(step)
        for factor, c, s in zip(adam.factor().tolist(), configs, steps.tolist(), strict=True):
            # A run that is over takes no more steps, whatever the factor would be.
            if step <= c.epochs * s:
                alone = SCHEDULED[c.schedule](
                    step, warmup=c.warmup_epochs * s, total=c.cosine_epochs * s
                )
                assert factor == pytest.approx(alone, abs=1e-12)
    kept = adam.keep(torch.tensor([2, 1]))
    assert torch.equal(kept.factor(), adam.factor()[[2, 1]])


def test_a_phase_has_its_own_settings_and_fewer_steps() -> None:
    @dataclass(frozen=True)
    class Two(TrainConfig):
        critic_lr: float = 0.25
        critic_clip: float | None = None

    phase = Phase("critic", every=3, lr="critic_lr", clip_norm="critic_clip", betas=(0.5, 0.9))
    configs = [Two(epochs=10, warmup_epochs=2), Two(epochs=4, critic_lr=0.5, critic_clip=2.0)]
    adam = Adam.start(torch.zeros(2, 1), configs, torch.tensor([6, 3]), phase)
    assert adam.lr.tolist() == [0.25, 0.5]
    assert adam.clip_norm.tolist() == [math.inf, 2.0]
    assert adam.total.tolist() == [20.0, 4.0]
    assert adam.warmup.tolist() == [4.0, 50.0]
    assert adam.betas == (0.5, 0.9)
    kept = adam.keep(torch.tensor([1]))
    assert (kept.lr.tolist(), kept.betas) == ([0.5], (0.5, 0.9))
