from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gmpool.data.dealing import deal

SIZES = st.lists(st.integers(1, 9) | st.just(1), min_size=3, max_size=40)


def dealt(
    sizes: list[int], targets: list[int], seed: int = 0, strata: np.ndarray | None = None
) -> np.ndarray:
    return deal(np.array(sizes), targets, torch.Generator().manual_seed(seed), strata)


def even(count: int, k: int) -> list[int]:
    return [count // k + (part < count % k) for part in range(k)]


@given(SIZES, st.integers(3, 8) | st.none(), st.integers(0, 99), st.integers(0, 3))
def test_no_part_exceeds_its_target_by_a_whole_group_and_none_is_empty(
    sizes: list[int], folds: int | None, seed: int, labels: int
) -> None:
    k = min(folds or 3, len(sizes))
    tenth = max(sum(sizes) // 10, 1)
    targets = even(sum(sizes), k) if folds else [sum(sizes) - 2 * tenth, tenth, tenth]
    strata = (
        np.random.RandomState(seed).randint(0, 2, (len(sizes), labels)) * np.array(sizes)[:, None]
    )
    part = dealt(sizes, targets, seed, strata)
    filled = np.bincount(part, weights=sizes, minlength=k)
    assert filled.sum() == sum(sizes)
    assert (filled > 0).all()
    assert all(fill - target < max(sizes) for fill, target in zip(filled, targets, strict=True))
    assert (dealt(sizes, targets, seed, strata) == part).all()


@given(st.integers(1, 60), st.data())
def test_single_graphs_are_dealt_exactly(count: int, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, count), min_size=2, max_size=2)))
    targets = [cuts[0], cuts[1] - cuts[0], count - cuts[1]]  # some want none
    labels = data.draw(st.none() | st.integers(1, 4))
    strata = None if labels is None else np.random.RandomState(0).randint(0, 2, (count, labels))
    part = dealt([1] * count, targets, data.draw(st.integers(0, 9)), strata)
    assert np.bincount(part, minlength=3).tolist() == targets


@given(st.lists(st.integers(0, 4), min_size=10, max_size=80), st.booleans(), st.integers(0, 9))
def test_each_class_is_spread_in_proportion(classes: list[int], folds: bool, seed: int) -> None:
    y, count = np.array(classes), len(classes)
    tenth = max(count // 10, 1)
    targets = even(count, 4) if folds else [count - 2 * tenth, tenth, tenth]
    strata = (y[:, None] == np.arange(5)).astype(np.int64)
    part = dealt([1] * count, targets, seed, strata)
    for p, target in enumerate(targets):
        found = np.bincount(y[part == p], minlength=5)
        asked = np.bincount(y, minlength=5) * target / count
        assert (abs(found - asked) < 2).all()


def test_rare_answers_of_many_columns_with_gaps_are_spread_evenly() -> None:
    """Five positives in each of twenty columns, and gaps: each of five folds gets some of most."""
    draws = np.random.RandomState(0)
    yes = np.zeros((200, 20), np.int64)
    for column in yes.T:
        column[draws.permutation(200)[:5]] = 1
    no = (draws.rand(200, 20) < 0.7) & (yes == 0)
    part = dealt([1] * 200, even(200, 5), 0, np.concatenate([yes, no.astype(np.int64)], 1))
    found = np.stack([yes[part == p].sum(0) for p in range(5)])  # [P, L]
    random = np.stack([yes[np.arange(200) % 5 == p].sum(0) for p in range(5)])
    assert (found == 0).mean() < 0.1 < (random == 0).mean() - 0.1
    assert found.max() <= 2


def test_a_group_goes_where_there_is_room_for_it() -> None:
    for seed in range(10):
        part = dealt([9] + [1] * 41, [40, 5, 5], seed)
        assert np.bincount(part, weights=[9] + [1] * 41).tolist() == [40, 5, 5]
    assert sorted(dealt([4, 3, 3], [8, 1, 1]).tolist()) == [0, 1, 2], "though two fit into train"


def test_large_groups_do_not_spoil_the_evenness_of_the_others() -> None:
    part = dealt([50] + [1] * 50, even(100, 4), 3)
    filled = np.bincount(part, weights=[50] + [1] * 50).tolist()
    assert sorted(filled) == [16, 17, 17, 50]


def test_a_group_of_several_labels_counts_for_each() -> None:
    """Groups of two answers each, and then single ones that make good what these left uneven."""
    strata = np.array([[2, 0]] * 3 + [[1, 1]] * 5 + [[1, 0]] * 9 + [[0, 1]] * 15)
    for seed in range(20):
        part = dealt([2] * 8 + [1] * 24, even(40, 4), seed, strata)
        for column in strata.T:
            assert np.bincount(part, weights=column, minlength=4).tolist() == [5, 5, 5, 5]


@pytest.mark.parametrize("strata", [None, np.ones((30, 1), np.int64)])
def test_another_seed_deals_otherwise(strata: np.ndarray | None) -> None:
    first, second = (dealt([1] * 30, even(30, 3), seed, strata) for seed in (0, 1))
    assert (first != second).any()
