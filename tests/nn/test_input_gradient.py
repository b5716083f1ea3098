"""Gradients by an input as part of a loss; tests/engine/stack/test_phases.py has them in GMT and in
a training."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from gmpool.nn.input_gradient import input_gradient


class Cubes(nn.Module):
    """y = Σ w x³ of each row, whose slope is 3 w x²."""

    def __init__(self, width: int = 3) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.arange(1.0, width + 1, dtype=torch.float64))

    def forward(self, x: Tensor, factor: Tensor | None = None) -> Tensor:
        y = (self.weight * x**3).sum(1)
        return y if factor is None else factor * y


class Penalty(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cubes = Cubes()

    def forward(self, x: Tensor, factor: Tensor) -> Tensor:
        y, slope = input_gradient(self.cubes, x, factor)
        return y.sum() + slope.square().sum()


def points(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_the_slope_is_that_of_each_row() -> None:
    cubes, x = Cubes(), points(4, 3)
    y, slope = input_gradient(cubes, x)
    torch.testing.assert_close(y, cubes(x))
    torch.testing.assert_close(slope, 3 * cubes.weight * x**2)
    assert not x.requires_grad, "the caller's tensor stays as it was"


def test_a_loss_of_the_slope_reaches_the_weights_and_the_input() -> None:
    cubes, x = Cubes(), points(4, 3).requires_grad_()
    _, slope = input_gradient(cubes, x)
    by_weight, by_input = torch.autograd.grad(slope.square().sum(), [cubes.weight, x])
    torch.testing.assert_close(by_weight, (18 * cubes.weight * x**4).sum(0))
    torch.testing.assert_close(by_input, 36 * cubes.weight**2 * x**3)


@pytest.mark.parametrize("shared", [True, False], ids=["one input", "an input each"])
def test_replicas_have_each_their_own(shared: bool) -> None:
    penalty, factor = Penalty(), torch.tensor(1.5, dtype=torch.float64)
    x = points(4, 3) if shared else points(3, 4, 3)
    weights = torch.stack([penalty.cubes.weight.detach() * r for r in (1, 2, 3)]).requires_grad_()

    def one(weight: Tensor, x: Tensor) -> Tensor:
        return functional_call(penalty, {"cubes.weight": weight}, (x, factor))

    together = vmap(one, in_dims=(0, None if shared else 0))(weights, x)
    (grads,) = torch.autograd.grad(together.sum(), weights)
    for r in range(3):
        weight = weights[r].detach().requires_grad_()
        alone = one(weight, x if shared else x[r])
        torch.testing.assert_close(together[r], alone)
        torch.testing.assert_close(grads[r], torch.autograd.grad(alone, weight)[0])
