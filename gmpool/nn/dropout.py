"""Dropout that is a function of a seed and a clock, so that replicas drop what they drop alone.

The mask is a hash of (seed, how often it was called, position). It does not depend on what else
runs in the same program, and its rate is a tensor: replicas may have rates of their own.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gmpool.errors import UserError
from gmpool.nn.keeps_options import KeepsOptions

# Odd multipliers of splitmix64 (Steele, Lea & Flood, 2014), as signed numbers.
STEP, _MIX, _MIX_AGAIN = -7046029254386353131, -4658895280553007687, -7723592293110705685


class Dropout(KeepsOptions):
    """Each number becomes 0 with probability `rate`, and is divided by 1 − rate otherwise.

    rate: in [0, 1); the attribute is a tensor.
    """

    rate: Tensor
    seed: Tensor
    clock: Tensor

    def __init__(self, rate: float) -> None:
        super().__init__()
        if not 0 <= rate < 1:
            raise UserError(f"dropout must lie in [0, 1), got {rate}")
        self.register_buffer("rate", torch.tensor(float(rate)), persistent=False)
        self.register_buffer("seed", torch.randint(2**62, ()), persistent=False)
        self.register_buffer("clock", torch.zeros((), dtype=torch.int64), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        self.clock.add_(1)
        place = torch.arange(x.numel(), device=x.device).view(x.shape)
        number = uniform(self.seed + self.clock * STEP, place)
        rate = self.rate.to(x.dtype)
        return torch.where(number < rate, 0.0, x / (1 - rate))


def uniform(key: Tensor, place: Tensor) -> Tensor:
    """Numbers in [0, 1), one for each place, by hashing it with the key. float32"""
    h = (place + key) * STEP
    h = (h ^ _shifted(h, 30)) * _MIX
    h = (h ^ _shifted(h, 27)) * _MIX_AGAIN
    return _shifted(h ^ _shifted(h, 31), 40).float() / 2**24


def _shifted(h: Tensor, by: int) -> Tensor:
    """h >> by as if h had no sign."""
    return (h >> by) & (2 ** (64 - by) - 1)
