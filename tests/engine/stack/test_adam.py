"""Adam of many replicas has the schedule of a run alone; tests/ops/adam has its steps."""

from __future__ import annotations

import pytest
import torch

from gmpool.config import TrainConfig
from gmpool.engine.schedule import cosine_with_warmup
from gmpool.engine.stack.adam import Adam


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
