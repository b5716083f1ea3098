"""Adam for R replicas at once: every replica with its own rate, decay, clipping and clock."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from gmpool.config import LAST_RATE, TrainConfig
from gmpool.ops.adam import Pace, adam_step
from gmpool.tasks.trainable import Phase


@dataclass
class Adam:
    """torch.optim.Adam with a norm clip and the schedules of `gmpool.engine.train`, per row.

    All tensors are [R] but the moments, [R, P].
    """

    first: Tensor
    second: Tensor
    clock: Tensor  # steps done, float64: how far the schedule and the bias corrections are
    lr: Tensor
    weight_decay: Tensor
    clip_norm: Tensor
    warmup: Tensor  # steps
    total: Tensor  # steps
    exponential: Tensor  # whether the rate falls so, and not along a cosine
    betas: tuple[float, float]

    @classmethod
    def start(
        cls, weights: Tensor, configs: list[TrainConfig], steps: Tensor, phase: Phase
    ) -> Adam:
        """weights [R, P]; steps [R]: how many steps an epoch has"""

        def column(values: list[float]) -> Tensor:
            return torch.tensor(values, dtype=torch.float64, device=weights.device)

        def settings(name: str) -> list[float]:
            found = [getattr(config, name) for config in configs]
            return [math.inf if value is None else value for value in found]

        per_epoch = column(steps.tolist()) / phase.every
        return cls(
            first=torch.zeros_like(weights),
            second=torch.zeros_like(weights),
            clock=torch.zeros_like(per_epoch),
            lr=column(settings(phase.lr)),
            weight_decay=column(settings(phase.weight_decay)),
            clip_norm=column(settings(phase.clip_norm)),
            warmup=column([c.warmup_epochs for c in configs]) * per_epoch,
            total=column([c.cosine_epochs for c in configs]) * per_epoch,
            exponential=torch.tensor(
                [c.schedule == "exponential" for c in configs], device=weights.device
            ),
            betas=phase.betas,
        )

    def step(self, weights: Tensor, grads: Tensor, active: Tensor) -> None:
        """Move the weights [R, P] of the active replicas [R] by their gradients, in place."""
        norm = grads.norm(dim=1).double()
        clip = (self.clip_norm / (norm + 1e-6)).clamp(max=1.0)
        rate = self.lr * self.factor()
        self.clock += active
        pace = Pace(active, clip, self.weight_decay, rate, self.clock, self.betas)
        adam_step(weights, grads, self.first, self.second, pace)

    def factor(self) -> Tensor:
        """Of the learning rate at the present clock. [R]"""
        progress = (self.clock - self.warmup) / (self.total - self.warmup).clamp(min=1)
        cosine = (0.5 * (1 + torch.cos(math.pi * progress))).clamp(min=0.0)
        exponential = LAST_RATE ** progress.clamp(max=1.0)
        falling = torch.where(self.exponential, exponential, cosine)
        rising = self.clock / self.warmup.clamp(min=1)
        return torch.where(self.clock < self.warmup, rising, falling)

    def keep(self, rows: Tensor) -> Adam:
        """Of some replicas alone."""
        kept = {k: v.index_select(0, rows) for k, v in vars(self).items() if k != "betas"}
        return Adam(**kept, betas=self.betas)
