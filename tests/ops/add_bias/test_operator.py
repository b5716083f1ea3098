"""Biases and their ReLU where no kernel serves them; test_triton.py has those."""

from __future__ import annotations

import pytest
import torch

from gmpool.ops.add_bias import add_bias, affine


@pytest.mark.parametrize("relu", [False, True])
def test_first_and_second_derivatives(relu: bool) -> None:
    torch.manual_seed(0)
    inputs = [torch.randn(*shape).double().requires_grad_() for shape in ((5, 3), (3,))]
    assert torch.autograd.gradcheck(lambda z, b: add_bias(z, b, relu=relu), inputs)
    assert torch.autograd.gradgradcheck(lambda z, b: add_bias(z, b, relu=relu), inputs)


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("shape", [(6,), (2, 3), (0,)])
def test_affine_is_a_linear_map(shape: tuple[int, ...], relu: bool) -> None:
    torch.manual_seed(0)
    linear, x = torch.nn.Linear(4, 5), torch.randn(*shape, 4)
    found = affine(x, linear.weight, linear.bias, relu=relu)
    assert torch.equal(found, linear(x).relu() if relu else linear(x))
    weights, biases = torch.randn(3, 5, 4), torch.randn(3, 5)
    stacked = torch.vmap(lambda w, b: affine(x, w, b, relu=relu))(weights, biases)
    for row, w, b in zip(stacked, weights, biases, strict=True):
        torch.testing.assert_close(row, affine(x, w, b, relu=relu))


def test_relu_of_a_map_of_three_axes_copies_nothing() -> None:
    """In place on what is a view, it would: and the gradient, too."""
    linear = torch.nn.Linear(4, 5)
    out = affine(torch.randn(2, 3, 4), linear.weight, linear.bias, relu=True)
    names, left = set(), [out.grad_fn]
    while left:
        node = left.pop()
        names.add(type(node).__name__)
        left += [earlier for earlier, _ in node.next_functions if earlier is not None]
    assert "ReluBackward0" in names
    assert "CopySlices" not in names
