"""The way past the dispatcher is taken where values are all that counts, and only there."""

from __future__ import annotations

import pytest
import torch
from marks import DEVICES
from torch import Tensor
from torch._subclasses import FakeTensorMode
from torch.func import grad, vmap

from gmpool.ops.without_dispatcher import only_values, without_dispatcher


def _twice(x: Tensor) -> Tensor:
    return 2 * x


def _save(ctx: object, inputs: tuple[Tensor, ...], output: Tensor) -> None:
    pass


def _backward(ctx: object, g: Tensor) -> Tensor:
    return 2 * g


def a_call() -> tuple[object, list[str]]:
    """An operator and a list that grows when the roundabout way is taken."""
    roundabout: list[str] = []

    def operator(x: Tensor) -> Tensor:
        roundabout.append("operator")
        return 2 * x

    return without_dispatcher(operator, _twice, _save, _backward), roundabout


@pytest.mark.parametrize("device", DEVICES)
def test_tensors_go_past_it_with_the_derivative_given(device: str) -> None:
    call, roundabout = a_call()
    x = torch.randn(3, device=device, requires_grad=True)
    y = call(x)
    torch.testing.assert_close(y, 2 * x)
    torch.testing.assert_close(torch.autograd.grad(y.sum(), x)[0], torch.full_like(x, 2.0))
    with torch.no_grad():
        assert not call(x).requires_grad
    assert not roundabout


def test_transforms_and_stand_ins_go_the_other_way() -> None:
    call, roundabout = a_call()
    x = torch.randn(3, 2)
    vmap(call)(x)
    grad(lambda t: call(t).sum())(x)
    with FakeTensorMode() as mode:
        call(mode.from_tensor(x))
    call(x.to("meta"))
    assert len(roundabout) == 4


def test_compiled_code_goes_the_other_way() -> None:
    seen = torch.compile(lambda t: t + int(only_values(t)), backend="eager", fullgraph=True)
    x = torch.zeros(1)
    assert only_values(x)
    assert seen(x) == 0
