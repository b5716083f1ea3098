"""What ranks are worth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gmpool.tasks.retrosynthesis.top_k import DECODINGS, MERGED, PUBLISHED, K, rank_scores, top_k

RANKS = st.lists(st.integers(0, 80), min_size=1, max_size=40)


def test_by_hand() -> None:
    ranks = np.array([1, 2, 3, 4, 0, 51, 50, 1])
    assert K == (1, 3, 5, 10, 20, 50)
    assert top_k(ranks) == [25.0, 50.0, 62.5, 62.5, 62.5, 75.0]
    assert all(math.isnan(value) for value in top_k(ranks[:0]))


@given(RANKS)
def test_it_counts_those_that_are_found_early_enough(ranks: list[int]) -> None:
    found = top_k(np.array(ranks))
    for k, value in zip(K, found, strict=True):
        assert value == pytest.approx(100 * sum(0 < rank <= k for rank in ranks) / len(ranks))
    assert found == sorted(found), "more places never find less"


@given(RANKS, st.integers(0, 2**20))
def test_a_row_says_it_of_both_decodings_and_of_each_class(ranks: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    published = np.array(ranks)
    merged = np.where(published > 0, rng.integers(1, np.maximum(published, 1) + 1), 0)
    groups = rng.integers(-1, 3, len(ranks))
    found = rank_scores({PUBLISHED: published, MERGED: merged}, groups, ["1", "2", "10"])
    for name, values in zip(DECODINGS, (published, merged), strict=True):
        assert found["ranks"][name] == values.tolist()
        assert found["top"][name] == pytest.approx(top_k(values), abs=1e-4)
        mrr = sum(1 / rank for rank in values.tolist() if rank) / len(ranks)
        assert found["mrr"][name] == pytest.approx(mrr, abs=1e-6)
        for at, group in enumerate(["1", "2", "10"]):
            if (groups == at).any():
                of_class = found["by_class"][group]
                assert of_class["reactions"] == int((groups == at).sum())
                assert of_class[name] == pytest.approx(top_k(values[groups == at]), abs=1e-4)
    seen = {name for at, name in enumerate(["1", "2", "10"]) if (groups == at).any()}
    assert set(found["by_class"]) == seen, "a class without a reaction is not there"
    assert all(m <= p for m, p in zip(found["top"][PUBLISHED], found["top"][MERGED], strict=True))


def test_of_no_reaction_nothing_is_known() -> None:
    none = np.zeros(0, dtype=np.int64)
    found = rank_scores({PUBLISHED: none, MERGED: none}, none, ["1", "2"])
    assert found["top"] == {name: [None] * len(K) for name in DECODINGS}
    assert found["mrr"] == dict.fromkeys(DECODINGS)
    assert found["by_class"] == {}


def test_one_class_is_none() -> None:
    one = np.array([1])
    assert "by_class" not in rank_scores({PUBLISHED: one, MERGED: one}, np.array([0]), [""])
