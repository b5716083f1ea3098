"""The two forms of seed attention are one function, and the cheaper one is taken."""

from __future__ import annotations

import pytest
import torch
from graphs import random_batch
from torch import nn

from gmpool import GMPool
from gmpool.graph.edges import Edges
from gmpool.nn.attention import SeedAttention
from gmpool.ops.segment import Segments

DIM = 8


def outputs_and_gradients(pool: GMPool, form: str) -> list[torch.Tensor]:
    batch = random_batch([5, 1, 0, 4], DIM, weighted=True)
    x = batch.x.requires_grad_()
    weight = batch.weight.requires_grad_()
    pool.attention.form = form
    pooled = pool(
        x,
        Edges(batch.edge_index, len(x), edge_weight=weight),
        batch.batch,
        batch_size=batch.size,
        return_assignment=True,
    )
    probe = torch.linspace(-1, 1, pooled.x.numel(), dtype=torch.float64).view_as(pooled.x)
    loss = (pooled.x * probe).sum() + (pooled.assignment**2).sum()
    inputs = (x, weight, *pool.parameters())
    grads = torch.autograd.grad(loss, inputs, allow_unused=True, create_graph=True)
    # A gradient penalty: the gradient of a gradient's norm.
    penalty = torch.autograd.grad(grads[0].square().sum(), inputs, allow_unused=True)
    return [
        pooled.x,
        pooled.assignment,
        *(torch.zeros_like(i) if g is None else g for g, i in zip(grads, inputs, strict=True)),
        *(torch.zeros_like(i) if g is None else g for g, i in zip(penalty, inputs, strict=True)),
    ]


@pytest.mark.parametrize("softmax", ["seeds", "nodes"])
@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("conv", ["gcn", None])
def test_absorbed_equals_direct(conv: str | None, heads: int, softmax: str) -> None:
    """In values, gradients and second derivatives; for edge weights only where edges matter."""
    torch.manual_seed(0)
    pool = GMPool(DIM, 3, num_heads=heads, conv=conv, softmax=softmax, layer_norm=True).double()
    absorbed = outputs_and_gradients(pool, "absorbed")
    direct = outputs_and_gradients(pool, "direct")
    for a, b in zip(absorbed, direct, strict=True):
        torch.testing.assert_close(a, b, atol=1e-10, rtol=1e-9)
    weight_gradient = absorbed[3]
    assert (weight_gradient.abs().max() > 0) == (conv == "gcn")


def test_first_gradients_of_the_fused_backward_equal_the_composed_one() -> None:
    """Without create_graph another backward runs; it must give the same numbers."""
    torch.manual_seed(0)
    pool = GMPool(DIM, 3, num_heads=2).double()
    batch = random_batch([5, 1, 0, 4], DIM)
    x = batch.x.requires_grad_()
    out = pool(x, batch.edge_index, batch.batch, batch_size=batch.size).x
    inputs = (x, *pool.parameters())
    fused = torch.autograd.grad(out.square().sum(), inputs, retain_graph=True)
    composed = torch.autograd.grad(out.square().sum(), inputs, create_graph=True)
    for a, b in zip(fused, composed, strict=True):
        torch.testing.assert_close(a, b, atol=1e-12, rtol=1e-12)


def test_the_cheaper_form_is_taken() -> None:
    attention = SeedAttention(8, num_heads=2, conv="gcn")
    x = torch.zeros(5, 8)
    assert attention._absorb(3, x)  # 2 · 3 < 8
    assert not attention._absorb(4, x)  # 2 · 4 = 8
    assert not SeedAttention(8, conv="gin")._absorb(1, x)


class Doubled(nn.Module):
    """A user's convolution that is linear with a propagation of its own: 2x."""

    def __init__(self, in_dim: int, out_dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out_dim, in_dim))
        self.bias = nn.Parameter(torch.randn(out_dim))

    def shared_propagation(self, x: torch.Tensor, edges: object) -> torch.Tensor:
        return 2 * x

    def forward(self, x: torch.Tensor, edges: object) -> torch.Tensor:
        return nn.functional.linear(self.shared_propagation(x, edges), self.weight, self.bias)


def test_a_factory_that_says_it_is_linear_is_absorbed() -> None:
    torch.manual_seed(0)
    pool = GMPool(DIM, 2, conv=Doubled).double()
    assert pool.attention.absorbable
    absorbed, direct = (outputs_and_gradients(pool, form) for form in ("absorbed", "direct"))
    for a, b in zip(absorbed, direct, strict=True):
        torch.testing.assert_close(a, b, atol=1e-10, rtol=1e-9)


@pytest.mark.parametrize("conv", ["gcn", None])
def test_linear_convolutions_are_absorbed(conv: str | None) -> None:
    """On every version of Python: from 3.12 on isinstance does not see a module's parameters."""
    attention = SeedAttention(8, conv=conv)
    assert attention.absorbable
    assert not SeedAttention(8, conv="gin").absorbable


@pytest.mark.parametrize("softmax", ["seeds", "nodes"])
def test_without_making_the_propagated_features(
    softmax: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Â is applied at the width of the scores; values and both derivatives stay the same."""
    batch = random_batch([7, 1, 0, 5], 24, weighted=True, directed=True)
    torch.manual_seed(0)
    attention = SeedAttention(24, num_heads=2, conv="gcn", softmax=softmax).double()
    seeds = torch.randn(3, 24, dtype=torch.float64)
    edges = Edges.of(batch.edge_index, len(batch.x), torch.float64, batch.weight)
    segments = Segments.from_batch(batch.batch, len(batch.x), None, batch.size)
    x = batch.x.requires_grad_()
    found = []
    for narrow in (True, False):
        if not narrow:
            monkeypatch.setattr("gmpool.nn.attention._not_yet_applied", lambda *_: None)
        out = attention(seeds, x, edges, segments).out
        (grad,) = torch.autograd.grad(out.square().sum(), x, create_graph=True)
        (again,) = torch.autograd.grad(grad.square().sum(), x)
        found.append((out, grad, again))
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, atol=1e-10, rtol=1e-10)
