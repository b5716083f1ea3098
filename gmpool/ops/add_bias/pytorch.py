"""z + b and ReLU(z + b) of stacked linear maps by PyTorch's operators."""

import torch
from torch import Tensor


def forward(z: Tensor, bias: Tensor, relu: bool) -> Tensor:
    """z [R·n, D], bias [R, D] -> [R·n, D]"""
    R = bias.shape[0]
    y = (z.unflatten(0, (R, z.shape[0] // R)) + bias[:, None]).flatten(0, 1)
    return torch.relu(y) if relu else y


def backward(y: Tensor, grad: Tensor, R: int) -> tuple[Tensor, Tensor]:
    """(∂z [R·n, D], ∂b [R, D]) of a ReLU whose values were y; differentiable in grad."""
    dz = torch.where(y > 0, grad, 0.0)
    return dz, sums_of_replicas(dz, R)


def sums_of_replicas(rows: Tensor, R: int) -> Tensor:
    """[R·n, D] -> [R, D]"""
    return rows.unflatten(0, (R, rows.shape[0] // R)).sum(1)
