"""Adam for R replicas at once: every replica with its own rate, decay, clipping and clock."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from gmpool.config import TrainConfig
from gmpool.ops.adam import Pace, adam_step


@dataclass
class Adam:
    """torch.optim.Adam with a norm clip and the schedule of `cosine_with_warmup`, per row.

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

    @classmethod
    def start(cls, weights: Tensor, configs: list[TrainConfig], steps: Tensor) -> Adam:
        """weights [R, P]; steps [R]: how many steps an epoch has"""

        def column(values: list[float]) -> Tensor:
            return torch.tensor(values, dtype=torch.float64, device=weights.device)

        per_epoch = column(steps.tolist())
        return cls(
            first=torch.zeros_like(weights),
            second=torch.zeros_like(weights),
            clock=torch.zeros_like(per_epoch),
            lr=column([c.lr for c in configs]),
            weight_decay=column([c.weight_decay for c in configs]),
            clip_norm=column([math.inf if c.clip_norm is None else c.clip_norm for c in configs]),
            warmup=column([c.warmup_epochs for c in configs]) * per_epoch,
            total=column([c.cosine_epochs for c in configs]) * per_epoch,
        )

    def step(self, weights: Tensor, grads: Tensor, active: Tensor) -> None:
        """Move the weights [R, P] of the active replicas [R] by their gradients, in place."""
        norm = grads.norm(dim=1).double()
        clip = (self.clip_norm / (norm + 1e-6)).clamp(max=1.0)
        rate = self.lr * self.factor()
        self.clock += active
        pace = Pace(active, clip, self.weight_decay, rate, self.clock)
        adam_step(weights, grads, self.first, self.second, pace)

    def factor(self) -> Tensor:
        """Of the learning rate at the present clock. [R]"""
        progress = (self.clock - self.warmup) / (self.total - self.warmup).clamp(min=1)
        cosine = (0.5 * (1 + torch.cos(math.pi * progress))).clamp(min=0.0)
        rising = self.clock / self.warmup.clamp(min=1)
        return torch.where(self.clock < self.warmup, rising, cosine)

    def keep(self, rows: Tensor) -> Adam:
        """Of some replicas alone."""
        return Adam(**{name: value.index_select(0, rows) for name, value in vars(self).items()})
