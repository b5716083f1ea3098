"""Numbers that are none or too large, graphs without nodes, batches without graphs, every type."""

from __future__ import annotations

from itertools import chain, product

import pytest
import torch
from numerics import DTYPES, KINDS, OPTIONS, attack, attack_by

from gmpool.pool import METHODS


@pytest.mark.parametrize("method", METHODS)
def test_it_succeeds_or_says_so(method: str) -> None:
    others = product(KINDS, DTYPES[:1], OPTIONS.get(method, []))
    for kind, dtype, options in chain(product(KINDS, DTYPES, [{}]), others):
        try:
            attack_by(method, kind, dtype, **options)
        except Exception as error:
            at = f"{kind}, {dtype}, {options}"
            raise AssertionError(f"{at}: {type(error).__name__}: {error}") from error


@pytest.mark.parametrize("method", METHODS)
def test_seeds_say_which_attack_it_is(method: str) -> None:
    """Other options with other types are left to as many seeds as a campaign takes."""
    for seed in range(3):
        attack(method, seed)


@pytest.mark.parametrize("wild", [float("nan"), float("inf"), -float("inf")])
def test_diverged_features_make_diverged_clusters_and_no_others(wild: float) -> None:
    """The number of the largest neighbour is found with and without numbers."""
    torch.manual_seed(0)
    pool = METHODS["asap"](2, 2, ratio=1.0)
    x = torch.randn(6, 2)
    x[1] = wild
    edge_index = torch.tensor([[0, 1, 1, 2, 3, 4, 4, 5], [1, 0, 2, 1, 4, 3, 5, 4]])
    out = pool(x, edge_index, torch.tensor([0, 0, 0, 1, 1, 1])).x
    assert not out[:3].isfinite().all()
    assert out[3:].isfinite().all()
