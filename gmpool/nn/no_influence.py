"""Weights that a result does not depend on, as those behind a softmax over a single seed.

Autograd then never visits them, and DistributedDataParallel waits for their gradients for ever.
Here they are visited, at no cost, and given none: DistributedDataParallel takes that for zeros, and
an optimiser that works alone leaves them out of its sums and steps, as before.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gmpool.ops.without_dispatcher import only_values


def without_influence(out: Tensor, *weights: Tensor) -> Tensor:
    """`out` as it is, of which autograd believes that it depends on the weights as well."""
    if torch.is_grad_enabled() and only_values(out):
        visited: Tensor = _Visit.apply(out, *weights)
        return visited
    return out


class _Visit(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, out: Tensor, *weights: Tensor) -> Tensor:
        ctx.num_weights = len(weights)
        return out.view_as(out)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return *grads, *[None] * ctx.num_weights
