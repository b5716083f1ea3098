"""z + b, and ReLU(z + b): what follows a matrix product, in one pass over the memory each way.

PyTorch adds the biases of R stacked linear maps by a broadcasting kernel that reaches half of a
GPU's bandwidth, and then passes over the rows again for the ReLU and twice more on the way back.
There each way is one kernel here. A map that is alone needs no such thing: its
product adds the bias itself.
"""

from typing import Any

import torch
from torch import Tensor

from gmpool.ops import choice
from gmpool.ops.add_bias.pytorch import backward as differentiable_backward
from gmpool.ops.add_bias.pytorch import sums_of_replicas
from gmpool.ops.replicas import flat, lead
from gmpool.ops.without_dispatcher import transformed


def add_bias(z: Tensor, bias: Tensor, *, relu: bool = False) -> Tensor:
    """z [N, D], bias [D] -> [N, D]"""
    if _is_stacked(z):
        return _add_bias(z, bias[None], relu)
    y = z + bias
    return torch.relu_(y) if relu else y  # in place: the sum is nobody else's


def affine(x: Tensor, weight: Tensor, bias: Tensor, *, relu: bool = False) -> Tensor:
    """x Wᵀ + b, and its ReLU. x [..., D_in], weight [D, D_in], bias [D] -> [..., D]"""
    rows = x.flatten(0, -2)  # a product of more axes is a view, and ReLU in place would copy it
    if _is_stacked(x):
        y = add_bias(rows @ weight.t(), bias, relu=relu)
    else:
        y = torch.nn.functional.linear(rows, weight, bias)
        y = torch.relu_(y) if relu else y
    return y.unflatten(0, x.shape[:-1])


def _is_stacked(t: Tensor) -> bool:
    """Whether it stands for the tensors of many replicas, on a GPU."""
    return transformed() and choice.triton_serves(t)


@torch.library.custom_op("gmpool::add_bias", mutates_args=())
def _add_bias(z: Tensor, bias: Tensor, relu: bool) -> Tensor:
    """z [R·n, D], bias [R, D] -> [R·n, D]"""
    return choice.serving(z, "add_bias").forward(z, bias, relu)


@_add_bias.register_fake
def _(z: Tensor, bias: Tensor, relu: bool) -> Tensor:
    return z.new_empty(z.shape)


@torch.library.custom_op("gmpool::add_bias_backward", mutates_args=())
def _relu_backward(y: Tensor, grad: Tensor, R: int) -> tuple[Tensor, Tensor]:
    """(∂z [R·n, D], ∂b [R, D])"""
    return choice.serving(y, "add_bias").backward(y, grad, R)


@_relu_backward.register_fake
def _(y: Tensor, grad: Tensor, R: int) -> tuple[Tensor, Tensor]:
    return y.new_empty(y.shape), y.new_empty(R, y.shape[1])


def _save(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, bias, relu = inputs
    ctx.replicas = bias.shape[0]
    ctx.save_for_backward(*([output] if relu else []))


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    if not ctx.saved_tensors:
        return grad, sums_of_replicas(grad, ctx.replicas), None
    # Grad mode is on here only when the gradient itself will be differentiated.
    backward: Any = differentiable_backward if torch.is_grad_enabled() else _relu_backward
    return *backward(ctx.saved_tensors[0].detach(), grad, ctx.replicas), None


_add_bias.register_autograd(_backward, setup_context=_save)


@_add_bias.register_vmap
def _(info: Any, in_dims: Any, z: Tensor, bias: Tensor, relu: bool) -> tuple[Tensor, int]:
    # Rows and biases of the replicas one after the other: the same operator again.
    R = info.batch_size
    rows = lead(z, in_dims[0], R)  # [R, N, D]
    y = _add_bias(rows.flatten(0, 1), flat(bias, in_dims[1], R), relu)
    return y.unflatten(0, rows.shape[:2]), 0
