"""The gradient of a module's outputs by its input, as part of a loss: gradient penalties.

Under vmap, where a stack trains, torch.autograd cannot be asked from inside. So the rule for a
replica axis steps out: all replicas are run together, and the gradient of the sum of their outputs
holds each one's own. Both ways can be differentiated once more, by the weights and by the input.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from gmpool.ops.replicas import lead


def input_gradient(module: nn.Module, x: Tensor, *more: Tensor) -> tuple[Tensor, Tensor]:
    """(module(x, *more), the gradient of its sum by x, [like x])"""
    if torch._C._are_functorch_transforms_active():
        state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        both: tuple[Tensor, Tensor] = _InputGradient.apply(
            module, tuple(state), x, *more, *state.values()
        )
        return both
    x = x if x.requires_grad else x.detach().requires_grad_()
    return _with_gradient(module(x, *more), x)


def _with_gradient(y: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    return y, torch.autograd.grad(y.sum(), x, create_graph=True)[0]


class _InputGradient(torch.autograd.Function):
    """Only its rule for a replica axis is ever used."""

    @staticmethod
    def forward(*_: Any) -> Any:
        raise AssertionError("without a transform input_gradient does it itself")

    @staticmethod
    def setup_context(*_: Any) -> None:
        raise AssertionError("see forward")

    @staticmethod
    def vmap(info: Any, in_dims: Any, module: nn.Module, names: Any, *tensors: Tensor) -> Any:
        stacked = [
            lead(t, dim, info.batch_size) for t, dim in zip(tensors, in_dims[2:], strict=True)
        ]
        inputs, state = stacked[: len(stacked) - len(names)], stacked[len(stacked) - len(names) :]
        x, more = inputs[0], inputs[1:]
        x = x if x.requires_grad else x.detach().requires_grad_()

        def one(x: Tensor, more: list[Tensor], state: list[Tensor]) -> Any:
            return functional_call(module, dict(zip(names, state, strict=True)), (x, *more))

        with torch.enable_grad():
            y = vmap(one, randomness="different")(x, more, state)
            return _with_gradient(y, x), (0, 0)
