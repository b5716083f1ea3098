"""What a step of Adam does to each of R replicas."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

EPS = 1e-8


class Pace(NamedTuple):
    """What a step does to each replica. All tensors [R]."""

    active: Tensor
    clip: Tensor  # factor of the gradient
    decay: Tensor
    rate: Tensor
    clock: Tensor  # the number of this step, from 1
    betas: tuple[float, float] = (0.9, 0.999)

    def columns(self, dtype: torch.dtype) -> tuple[Tensor, ...]:
        """clip, decay, rate / (1 − β₁ᵗ) and √(1 − β₂ᵗ)"""
        t, (beta1, beta2) = self.clock.clamp(min=1), self.betas
        numbers = (self.clip, self.decay, self.rate / (1 - beta1**t), (1 - beta2**t).sqrt())
        return tuple(column.to(dtype) for column in numbers)
