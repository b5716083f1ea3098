"""Adam for R replicas by PyTorch's operators: all at once, or one after the other."""

from __future__ import annotations

import torch
from torch import Tensor

from gmpool.ops.adam.pace import EPS, Pace


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
