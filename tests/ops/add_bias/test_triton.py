"""Biases and their ReLU by Triton's kernels: interpreted on the CPU, compiled on a GPU.

As triton_checks.py has it memory is poisoned, and errors are held against those of plain PyTorch.
"""

from __future__ import annotations

from functools import partial

import pytest
import torch
import triton_checks
from torch import Tensor
from triton_checks import assert_as_exact, low_and_exact, with_gradients

from gmpool.ops.add_bias import add_bias, affine

pytest.importorskip("triton")
device = triton_checks.device


def reference(z: Tensor, bias: Tensor, relu: bool) -> Tensor:
    """What it means, for all replicas."""
    return torch.relu(z + bias[:, None]) if relu else z + bias[:, None]


def stacked(z: Tensor, bias: Tensor, relu: bool) -> Tensor:
    return torch.vmap(partial(add_bias, relu=relu))(z, bias)


@pytest.mark.parametrize(
    ("replicas", "rows", "width", "dtype"),
    [
        (1, 1, 1, torch.float32),
        (2, 70, 33, torch.float32),
        (3, 300, 128, torch.float32),
        (2, 5, 300, torch.float32),
        (2, 0, 4, torch.float32),
        (3, 40, 16, torch.bfloat16),
    ],
)
@pytest.mark.parametrize("relu", [False, True])
def test_values_and_gradients(
    replicas: int, rows: int, width: int, dtype: torch.dtype, relu: bool, device: str
) -> None:
    shapes = [(replicas, rows, width), (replicas, width)]
    low, exact = low_and_exact(shapes, dtype, device)
    found, plain, true = (
        with_gradients([f(*inputs, relu)], inputs)
        for f, inputs in ((stacked, low), (reference, low), (reference, exact))
    )
    assert_as_exact(found, plain, true)


def test_replicas_are_one_call(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from gmpool.ops.add_bias import triton as kernels

    called, forward = [], kernels.forward

    def counted(z: Tensor, bias: Tensor, relu: bool) -> Tensor:
        called.append(tuple(bias.shape))
        return forward(z, bias, relu)

    monkeypatch.setattr(kernels, "forward", counted)
    stacked(torch.randn(3, 50, 20).to(device), torch.randn(3, 20).to(device), True)
    assert called == [(3, 20)]
    add_bias(torch.randn(50, 20).to(device), torch.randn(20).to(device))
    assert called == [(3, 20)], "one that is alone needs no kernel"


def test_columns_of_wider_rows(device: str) -> None:
    """Neither the rows nor their gradient need lie without gaps."""
    (wide, bias), _ = low_and_exact([(2, 40, 12), (2, 4)], torch.float32, device)
    found, expected = (
        torch.autograd.grad(
            (torch.cat([wide[..., :4], f(wide[..., 4:8], bias, True)], 2) * wide[..., :8]).sum(),
            (wide, bias),
        )
        for f in (stacked, reference)
    )
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)


def test_the_gradient_of_a_gradient(device: str) -> None:
    (z, bias), _ = low_and_exact([(2, 9, 4), (2, 4)], torch.float32, device)
    found, expected = (
        torch.autograd.grad(
            torch.autograd.grad(f(z, bias, True).square().sum(), bias, create_graph=True)[0]
            .square()
            .sum(),
            (z, bias),
        )
        for f in (stacked, reference)
    )
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-4)


def test_what_is_not_a_number_is_not_hidden(device: str) -> None:
    z = torch.tensor([[[float("nan"), -1.0, 2.0]]], device=device)
    out = stacked(z, torch.zeros(1, 3, device=device), True)
    assert out.isnan().tolist() == [[[True, False, False]]]


@pytest.mark.parametrize("shape", [(6,), (2, 3)])
def test_affine_is_a_linear_map(shape: tuple[int, ...], device: str) -> None:
    torch.manual_seed(0)
    x, w, b = (torch.randn(3, *s).to(device) for s in ((*shape, 4), (5, 4), (5,)))
    together = torch.vmap(partial(affine, relu=True))(x, w, b)
    for out, *one in zip(together, x, w, b, strict=True):
        torch.testing.assert_close(out, torch.relu(torch.nn.functional.linear(*one)))
