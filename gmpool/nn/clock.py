"""Modules whose random numbers are a function of a seed and a clock, not of who else draws.

What they draw in a step depends on nothing else that runs in the same program: stacked and alone,
a replica draws the same.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gmpool.nn.keeps_options import KeepsOptions

# Odd multipliers of splitmix64 (Steele, Lea & Flood, 2014), as signed numbers.
STEP, _MIX, _MIX_AGAIN = -7046029254386353131, -4658895280553007687, -7723592293110705685


class Clocked(KeepsOptions):
    """Has a seed of its own, drawn when it is made, and a clock that the engine sets before each
    step; who trains it otherwise need not care.

    keep_seed: whether the seed is saved with the weights.
    """

    seed: Tensor
    clock: Tensor

    def __init__(self, *, keep_seed: bool = False) -> None:
        super().__init__()
        self.register_buffer("seed", torch.randint(2**62, ()), persistent=keep_seed)
        self.register_buffer("clock", torch.zeros((), dtype=torch.int64), persistent=False)

    def tick(self) -> Tensor:
        """The key of the next draw: other numbers in every call. []"""
        self.clock.add_(1)
        return self.seed + self.clock * STEP


def clocks_of(model: nn.Module) -> list[str]:
    """The names of the clocks among a model's buffers."""
    named = model.named_modules()
    return [f"{name}.clock".lstrip(".") for name, part in named if isinstance(part, Clocked)]


def set_clocks(model: nn.Module, step: int) -> None:
    for part in model.modules():
        if isinstance(part, Clocked):
            part.clock.fill_(step)


def uniform(key: Tensor, place: Tensor) -> Tensor:
    """Numbers in [0, 1), one for each place, by hashing it with the key. float32"""
    h = (place + key) * STEP
    h = (h ^ _shifted(h, 30)) * _MIX
    h = (h ^ _shifted(h, 27)) * _MIX_AGAIN
    return _shifted(h ^ _shifted(h, 31), 40).float() / 2**24


def _shifted(h: Tensor, by: int) -> Tensor:
    """h >> by as if h had no sign."""
    return (h >> by) & (2 ** (64 - by) - 1)
