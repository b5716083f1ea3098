"""Adam for R replicas at once: every replica with its own rate, decay, clipping and clock."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from gmpool.config import TrainConfig
from gmpool.ops.gpu import usable
from gmpool.tasks.trainable import Phase

EPS = 1e-8


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
            betas=phase.betas,
        )

    def step(self, weights: Tensor, grads: Tensor, active: Tensor) -> None:
        """Move the weights [R, P] of the active replicas [R] by their gradients, in place."""
        norm = grads.norm(dim=1).double()
        clip = (self.clip_norm / (norm + 1e-6)).clamp(max=1.0)
        rate = self.lr * self.factor()
        self.clock += active
        pace = Pace(active, clip, self.weight_decay, rate, self.clock)
        work = update_by_row if weights.device.type == "cpu" else update
        work(weights, grads, self.first, self.second, pace, self.betas)

    def factor(self) -> Tensor:
        """Of the learning rate at the present clock. [R]"""
        progress = (self.clock - self.warmup) / (self.total - self.warmup).clamp(min=1)
        cosine = (0.5 * (1 + torch.cos(math.pi * progress))).clamp(min=0.0)
        rising = self.clock / self.warmup.clamp(min=1)
        return torch.where(self.clock < self.warmup, rising, cosine)

    def keep(self, rows: Tensor) -> Adam:
        """Of some replicas alone."""
        kept = {k: v.index_select(0, rows) for k, v in vars(self).items() if k != "betas"}
        return Adam(**kept, betas=self.betas)


class Pace(NamedTuple):
    """What a step does to each replica. All [R]."""

    active: Tensor
    clip: Tensor  # factor of the gradient
    decay: Tensor
    rate: Tensor
    clock: Tensor  # the number of this step, from 1


def update(
    weights: Tensor,
    grads: Tensor,
    first: Tensor,
    second: Tensor,
    pace: Pace,
    betas: tuple[float, float],
) -> None:
    """w ← w − rate / (1 − β₁ᵗ) · m / (√(v / (1 − β₂ᵗ)) + ε), in place; all [R, P].

    A replica that is not active, whose gradient may be NaN, stays as it is.
    """
    t, (beta1, beta2) = pace.clock.clamp(min=1), betas
    numbers = (pace.clip, pace.decay, pace.rate / (1 - beta1**t), (1 - beta2**t).sqrt())
    clip, decay, size, root = (column.to(weights.dtype) for column in numbers)
    if usable(weights):
        from gmpool.ops.triton_adam import adam_step

        columns = (clip, decay, size, root)
        adam_step(weights, grads, (first, second), pace.active, columns, (*betas, EPS))
        return
    clip, decay, size, root = (column[:, None] for column in (clip, decay, size, root))
    on = pace.active[:, None]
    g = torch.where(on, grads * clip + decay * weights, 0.0)
    first.copy_(torch.where(on, torch.lerp(first, g, 1 - beta1), first))
    second.copy_(torch.where(on, second * beta2 + (1 - beta2) * g * g, second))
    weights.sub_(torch.where(on, size * first / (second.sqrt() / root + EPS), 0.0))


def update_by_row(
    weights: Tensor,
    grads: Tensor,
    first: Tensor,
    second: Tensor,
    pace: Pace,
    betas: tuple[float, float],
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
            beta1=betas[0],
            beta2=betas[1],
            weight_decay=decays[row],
            eps=EPS,
            amsgrad=False,
            maximize=False,
        )
