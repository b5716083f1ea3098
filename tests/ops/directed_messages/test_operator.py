"""Messages on directed bonds against their reference: values, derivatives, replicas."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
import torch
from directed_bonds import DirectedBonds, random_bonds, reference
from hypothesis import given
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from gmpool.ops.directed_messages import directed_messages


def messages(own: Tensor, table: Tensor, g: Tensor | None, bonds: DirectedBonds) -> Tensor:
    return directed_messages(own, table, bonds.code, g, bonds.rowptr, bonds.back)


def doubles(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def assert_same(
    ours: Tensor, plain: Tensor, inputs: tuple[Tensor, ...], tolerance: float = 1e-12
) -> None:
    """Values, and gradients of the inputs."""
    probe = torch.randn_like(plain)
    found, expected = (torch.autograd.grad(out, inputs, probe) for out in (ours, plain))
    for a, b in zip((ours, *found), (plain, *expected), strict=True):
        torch.testing.assert_close(a, b, atol=tolerance, rtol=tolerance)


def test_a_bond_hears_all_that_lead_to_its_begin_but_its_way_back() -> None:
    """By hand: a path 0 – 1 – 2, whose rows are [1 → 0], [0 → 1, 2 → 1], [1 → 2]."""
    bonds = DirectedBonds(
        torch.tensor([0, 0, 1, 1]), torch.tensor([0, 1, 3, 4]), torch.tensor([1, 0, 3, 2])
    )
    own, table = torch.tensor([[1.0], [2], [4]]), torch.tensor([[10.0], [20]])
    g = torch.tensor([[100.0], [200], [400], [800]])
    found = messages(own, table, g, bonds)
    # 1 → 0 begins at 1 and hears 2 → 1; 0 → 1 begins at 0 and hears nobody else.
    assert found.tolist() == [[2 + 10 + 400], [1 + 10], [4 + 20], [2 + 20 + 200]]
    assert messages(own, table, None, bonds).tolist() == [[12], [11], [24], [22]]
    assert messages(own - 100, table, None, bonds).tolist() == [[0]] * 4


@given(
    rows=st.integers(1, 12),
    entries=st.integers(0, 30),
    kinds=st.integers(1, 20),
    width=st.sampled_from([1, 7, 33, 128]),
    heard=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_values_and_gradients_equal_the_reference(
    rows: int, entries: int, kinds: int, width: int, heard: bool, seed: int
) -> None:
    bonds = random_bonds(rows, entries, kinds, seed)
    own, table, g = doubles(rows, width), doubles(kinds, width), doubles(entries, width)
    inputs = (own, table, g) if heard else (own, table)
    args = (own, table, g if heard else None, bonds)
    assert_same(messages(*args), reference(*args), inputs)


@pytest.mark.parametrize("heard", [True, False])
def test_derivatives_of_both_orders(heard: bool) -> None:
    torch.manual_seed(0)
    bonds = random_bonds(5, 9, 3, seed=0)

    def f(own: Tensor, table: Tensor, *g: Tensor) -> Tensor:
        return messages(own, table, g[0] if g else None, bonds)

    inputs = (doubles(5, 2), doubles(3, 2), *([doubles(9, 2)] if heard else []))
    assert gradcheck(f, inputs)
    # One that is not linear after it, for its own second derivative is 0.
    assert gradgradcheck(lambda *args: f(*args).square(), inputs)


@pytest.mark.parametrize("heard", [True, False])
def test_replicas_are_a_disjoint_union(heard: bool) -> None:
    torch.manual_seed(0)
    rows, entries, kinds, width = 9, 17, 4, 5
    each = [random_bonds(rows, entries, kinds, seed) for seed in range(3)]
    own, table, g = (doubles(len(each), n, width) for n in (rows, kinds, entries))

    def one(own: Tensor, table: Tensor, g: Tensor, *bonds: Tensor) -> Tensor:
        return messages(own, table, g if heard else None, DirectedBonds(*bonds))

    stacked = torch.vmap(one)(own, table, g, *map(torch.stack, zip(*each, strict=True)))
    alone = [
        reference(o, t, h if heard else None, bonds)
        for o, t, h, bonds in zip(own, table, g, each, strict=True)
    ]
    inputs = (own, table, g) if heard else (own, table)
    assert_same(stacked, torch.stack(alone), inputs)


def test_replicas_of_one_graph() -> None:
    torch.manual_seed(0)
    bonds, own, table, g = (
        random_bonds(6, 11, 3, 0),
        doubles(4, 6, 5),
        doubles(3, 5),
        doubles(11, 5),
    )
    stacked = torch.vmap(lambda own: messages(own, table, g, bonds))(own)
    alone = torch.stack([reference(one, table, g, bonds) for one in own])
    assert_same(stacked, alone, (own, table, g))


@pytest.mark.parametrize(("rows", "kinds"), [(0, 2), (3, 2), (3, 0)])
def test_replicas_without_bonds(rows: int, kinds: int) -> None:
    inputs = doubles(2, rows, 4), doubles(2, kinds, 4), doubles(2, 0, 4)
    none = torch.zeros(2, 0, dtype=torch.int64)
    rowptr = torch.zeros(2, rows + 1, dtype=torch.int64)

    def one(own: Tensor, table: Tensor, g: Tensor, *bonds: Tensor) -> Tensor:
        return messages(own, table, g, DirectedBonds(*bonds))

    out = torch.vmap(one)(*inputs, none, rowptr, none)
    assert out.shape == (2, 0, 4)
    for grad in torch.autograd.grad(out.sum(), inputs):
        assert torch.equal(grad, torch.zeros_like(grad))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_error_is_that_of_plain_torch(dtype: torch.dtype) -> None:
    """At most twice the error of the plain reference at the same precision."""
    torch.manual_seed(0)
    bonds = random_bonds(60, 131, 5, seed=0)
    low = [torch.randn(n, 33).to(dtype) for n in (60, 5, 131)]
    exact = reference(*(t.double() for t in low), bonds)
    ours, plain = messages(*low, bonds), reference(*low, bonds)
    assert ours.dtype == dtype
    assert (ours - exact).norm() <= 2 * (plain - exact).norm()


@pytest.mark.parametrize("heard", [True, False])
def test_compiles_without_values(heard: bool) -> None:
    """The operator and its backward pass know their shapes."""
    bonds = random_bonds(7, 12, 3, seed=0)
    own, table, g = doubles(7, 5), doubles(3, 5), doubles(12, 5)
    compiled = torch.compile(directed_messages, backend="aot_eager", fullgraph=True)
    args = (own, table, bonds.code, g if heard else None, bonds.rowptr, bonds.back)
    inputs = (own, table, g) if heard else (own, table)
    assert_same(compiled(*args), directed_messages(*args), inputs)
