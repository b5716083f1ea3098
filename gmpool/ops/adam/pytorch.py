"""What a step of Adam does to each of R replicas, and Adam by PyTorch's operators: for all of them
at once, or one after the other."""

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


def update(weights: Tensor, grads: Tensor, first: Tensor, second: Tensor, pace: Pace) -> None:
    """In place; all [R, P]."""
    clip, decay, size, root = (column[:, None] for column in pace.columns(weights.dtype))
    on, (beta1, beta2) = pace.active[:, None], pace.betas
    g = torch.where(on, grads * clip + decay * weights, 0.0)
    first.copy_(torch.where(on, torch.lerp(first, g, 1 - beta1), first))
    second.copy_(torch.where(on, second * beta2 + (1 - beta2) * g * g, second))
    weights.sub_(torch.where(on, size * first / (second.sqrt() / root + EPS), 0.0))


def update_by_row(
    weights: Tensor, grads: Tensor, first: Tensor, second: Tensor, pace: Pace
) -> None:
    """The same by PyTorch's fused kernel, which passes over the memory once, for each replica."""
    _, clips, decays, rates, clocks = (column.tolist() for column in pace[:5])
    for row in pace.active.nonzero()[:, 0].tolist():
        torch._fused_adam_(
            [weights[row]],
            [grads[row].mul_(clips[row])],
            [first[row]],
            [second[row]],
            [],
            [torch.tensor(clocks[row], dtype=torch.float32)],
            lr=rates[row],
            beta1=pace.betas[0],
            beta2=pace.betas[1],
            weight_decay=decays[row],
            eps=EPS,
            amsgrad=False,
            maximize=False,
        )
