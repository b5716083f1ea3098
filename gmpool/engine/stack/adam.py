"""Adam for R replicas at once: every replica with its own rate, decay, clipping and clock."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from gmpool.config import TrainConfig
from gmpool.ops.gpu import usable

BETA1, BETA2, EPS = 0.9, 0.999, 1e-8


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
        work = update_by_row if weights.device.type == "cpu" else update
        work(weights, grads, self.first, self.second, pace)

    def factor(self) -> Tensor:
        """Of the learning rate at the present clock. [R]"""
        progress = (self.clock - self.warmup) / (self.total - self.warmup).clamp(min=1)
        cosine = (0.5 * (1 + torch.cos(math.pi * progress))).clamp(min=0.0)
        rising = self.clock / self.warmup.clamp(min=1)
        return torch.where(self.clock < self.warmup, rising, cosine)

    def keep(self, rows: Tensor) -> Adam:
        """Of some replicas alone."""
        return Adam(**{name: value.index_select(0, rows) for name, value in vars(self).items()})


class Pace(NamedTuple):
    """What a step does to each replica. All [R]."""

    active: Tensor
    clip: Tensor  # factor of the gradient
    decay: Tensor
    rate: Tensor
    clock: Tensor  # the number of this step, from 1


def update(weights: Tensor, grads: Tensor, first: Tensor, second: Tensor, pace: Pace) -> None:
    """w ← w − rate / (1 − β₁ᵗ) · m / (√(v / (1 − β₂ᵗ)) + ε), in place; all [R, P].

    A replica that is not active, whose gradient may be NaN, stays as it is.
    """
    t = pace.clock.clamp(min=1)
    numbers = (pace.clip, pace.decay, pace.rate / (1 - BETA1**t), (1 - BETA2**t).sqrt())
    clip, decay, size, root = (column.to(weights.dtype) for column in numbers)
    if usable(weights):
        from gmpool.ops.triton_adam import adam_step

        columns = (clip, decay, size, root)
        adam_step(weights, grads, (first, second), pace.active, columns, (BETA1, BETA2, EPS))
        return
    clip, decay, size, root = (column[:, None] for column in (clip, decay, size, root))
    on = pace.active[:, None]
    g = torch.where(on, grads * clip + decay * weights, 0.0)
    first.copy_(torch.where(on, torch.lerp(first, g, 1 - BETA1), first))
    second.copy_(torch.where(on, second * BETA2 + (1 - BETA2) * g * g, second))
    weights.sub_(torch.where(on, size * first / (second.sqrt() / root + EPS), 0.0))


def update_by_row(
    weights: Tensor, grads: Tensor, first: Tensor, second: Tensor, pace: Pace
) -> None:
    """The same by PyTorch's fused kernel, which passes over the memory once, for each replica."""
    _, clips, decays, rates, clocks = (column.tolist() for column in pace)
    for row in pace.active.nonzero()[:, 0].tolist():
        torch._fused_adam_(
            [weights[row]],
            [grads[row].mul_(clips[row])],
            [first[row]],
            [second[row]],
            [],
            [torch.tensor(clocks[row], dtype=torch.float32)],
            lr=rates[row],
            beta1=BETA1,
            beta2=BETA2,
            weight_decay=decays[row],
            eps=EPS,
            amsgrad=False,
            maximize=False,
        )
