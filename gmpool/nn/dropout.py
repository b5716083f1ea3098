"""Dropout whose mask is a function of seed, step and position."""

from __future__ import annotations

import torch
from torch import Tensor

from gmpool.errors import UserError
from gmpool.nn.clock import Clocked, uniform


class Dropout(Clocked):
    """Each number becomes 0 with probability `rate`, and is divided by 1 − rate otherwise.

    rate: in [0, 1); the attribute is a tensor: replicas may have rates of their own.
    """

    rate: Tensor

    def __init__(self, rate: float) -> None:
        super().__init__()
        if not 0 <= rate < 1:
            raise UserError(f"dropout must lie in [0, 1), got {rate}")
        self.register_buffer("rate", torch.tensor(float(rate)), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        place = torch.arange(x.numel(), device=x.device).view(x.shape)
        number = uniform(self.tick(), place)
        rate = self.rate.to(x.dtype)
        return torch.where(number < rate, 0.0, x / (1 - rate))
