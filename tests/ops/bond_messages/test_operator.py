"""Messages with bonds against their reference: values, derivatives of both orders, replicas."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
import torch
from bonded_graphs import random_molecules, random_tree
from hypothesis import given
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from gmpool.ops.bond_messages import bond_messages
from gmpool.ops.bond_messages.reference import bond_messages_reference
from gmpool.ops.sparse import Pattern


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


@given(
    sizes=st.lists(st.integers(0, 7), min_size=1, max_size=4).filter(any),
    kinds=st.integers(1, 20),
    width=st.sampled_from([1, 7, 33, 128]),
    weighted=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_values_and_gradients_equal_the_reference(
    sizes: list[int], kinds: int, width: int, weighted: bool, seed: int
) -> None:
    made = random_molecules(sizes, kinds, seed)
    x, table = doubles(sum(sizes), width), doubles(kinds, width)
    rest = (made.code, made.weight if weighted else None)
    assert_same(
        bond_messages(made.pattern, x, table, *rest),
        bond_messages_reference(made.pattern, x, table, *rest),
        (x, table),
    )


@pytest.mark.parametrize("weighted", [True, False])
def test_derivatives_of_both_orders(weighted: bool) -> None:
    torch.manual_seed(0)
    made = random_molecules([4, 0, 3, 1], 3)
    weight = made.weight if weighted else None

    def f(x: Tensor, table: Tensor) -> Tensor:
        return bond_messages(made.pattern, x, table, made.code, weight)

    assert gradcheck(f, (doubles(8, 2), doubles(3, 2)))
    # One that is not linear after it, for its own second derivative is 0.
    assert gradgradcheck(lambda x, table: f(x, table).square(), (doubles(8, 2), doubles(3, 2)))


def test_replicas_are_a_disjoint_union() -> None:
    torch.manual_seed(0)
    n, kinds, width = 9, 4, 5
    trees = [random_tree(n, kinds, seed) for seed in range(3)]
    x, table = doubles(len(trees), n, width), doubles(len(trees), kinds, width)

    def one(x: Tensor, table: Tensor, code: Tensor, w: Tensor, ptr: Tensor, col: Tensor) -> Tensor:
        return bond_messages(Pattern(ptr, col, ptr, col), x, table, code, w)

    columns = zip(
        *((t.code, t.weight, t.pattern.rowptr, t.pattern.col) for t in trees), strict=True
    )
    stacked = torch.vmap(one)(x, table, *map(torch.stack, columns))
    alone = [
        bond_messages_reference(tree.pattern, *rows, tree.code, tree.weight)
        for rows, tree in zip(zip(x, table, strict=True), trees, strict=True)
    ]
    assert_same(stacked, torch.stack(alone), (x, table))


def test_replicas_of_one_graph() -> None:
    torch.manual_seed(0)
    tree, x, table = random_tree(6, 3, 0), doubles(4, 6, 5), doubles(3, 5)
    stacked = torch.vmap(lambda x: bond_messages(tree.pattern, x, table, tree.code))(x)
    alone = [bond_messages_reference(tree.pattern, one, table, tree.code) for one in x]
    assert_same(stacked, torch.stack(alone), (x, table))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_error_is_that_of_plain_torch(dtype: torch.dtype) -> None:
    """At most twice the error of the plain reference at the same precision."""
    torch.manual_seed(0)
    made = random_molecules([40, 25, 60], 5)
    x, table = torch.randn(125, 33).to(dtype), torch.randn(5, 33).to(dtype)
    exact = bond_messages_reference(
        made.pattern, x.double(), table.double(), made.code, made.weight
    )
    rest = (made.pattern, x, table, made.code, made.weight.to(dtype))
    ours, plain = bond_messages(*rest), bond_messages_reference(*rest)
    assert ours.dtype == dtype
    assert (ours - exact).norm() <= 2 * (plain - exact).norm()


def test_compiles_without_values() -> None:
    """The operator and its backward pass know their shapes."""
    made = random_molecules([4, 3], 3)
    args = (made.pattern, doubles(7, 5), doubles(3, 5), made.code, made.weight)
    compiled = torch.compile(bond_messages, backend="aot_eager", fullgraph=True)
    assert_same(compiled(*args), bond_messages(*args), args[1:3])
