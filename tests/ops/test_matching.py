"""Contraction by rounds against the sequential loop."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings

from gmpool.ops.matching import contract, contract_reference


@settings(max_examples=300)
@given(
    n=st.integers(1, 12),
    edges=st.integers(0, 60),
    levels=st.sampled_from([1, 2, 5, 10**6]),
    second=st.booleans(),
    dtype=st.sampled_from([torch.float32, torch.float64, torch.bfloat16]),
    seed=st.integers(0, 10**6),
)
def test_rounds_equal_the_sequential_loop(
    n: int, edges: int, levels: int, second: bool, dtype: torch.dtype, seed: int
) -> None:
    """Any edges: loops, double ones, both directions; few levels of scores: many ties."""
    generator = torch.Generator().manual_seed(seed)
    source, target = torch.randint(n, (2, edges), generator=generator)
    score, then = (torch.randint(-levels, levels, (2, edges), generator=generator) / levels).to(
        dtype
    )
    extra = {"then": then} if second else {}
    found = contract(source, target, score, n, **extra)
    assert found.tolist() == contract_reference(source, target, score, n, **extra).tolist()


@settings(max_examples=100)
@given(n=st.integers(2, 12), levels=st.sampled_from([1, 3, 10**6]), seed=st.integers(0, 10**6))
def test_knowing_opposite_edges_changes_nothing(n: int, levels: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    has = torch.rand(n, n, generator=generator) < 0.5
    source, target = (has | has.t()).nonzero(as_tuple=True)
    pairs = list(zip(source.tolist(), target.tolist(), strict=True))
    reverse = torch.tensor([pairs.index((j, i)) for i, j in pairs], dtype=torch.long)
    score = torch.randint(levels, (len(source),), generator=generator).float()
    plain = contract(source, target, score, n)
    assert contract(source, target, score, n, reverse=reverse).tolist() == plain.tolist()


def test_a_path_with_rising_scores_needs_many_rounds() -> None:
    n = 41
    source, target = torch.arange(n - 1), torch.arange(1, n)
    assert contract(source, target, source.float(), n).tolist() == list(range(1, n, 2))


def test_zeros_of_both_signs_are_equal_and_negative_scores_are_ordered() -> None:
    source, target = torch.tensor([0, 1, 2]), torch.tensor([1, 2, 3])
    assert contract(source, target, torch.tensor([-0.0, 0.0, -0.0]), 4).tolist() == [0, 2]
    assert contract(source, target, torch.tensor([-3.0, -2.0, -2.5]), 4).tolist() == [1]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_rounds_end_whatever_the_scores_are(value: float) -> None:
    source, target = torch.tensor([0, 1, 2, 0]), torch.tensor([1, 2, 0, 3])
    for dtype in (torch.float32, torch.float64):
        assert len(contract(source, target, torch.full((4,), value, dtype=dtype), 4)) in (1, 2)


def test_nothing_to_contract() -> None:
    none = torch.zeros(0, dtype=torch.long)
    assert contract(none, none, torch.zeros(0), 0).tolist() == []
    assert contract(none, none, torch.zeros(0), 3).tolist() == []
    loops = torch.arange(3)
    assert contract(loops, loops, torch.ones(3), 3).tolist() == []
