from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pandas
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_sets import classes

from gmpool.data import Dataset, Split, inner_folds, load_table, with_splits
from gmpool.data.kept_together import groups_of
from gmpool.errors import DataError

pytest.importorskip("rdkit")
RINGS = ("c1ccccc1", "C1CCCCC1", "c1ccncc1", "C1CCC1", "c1ccoc1", "C1CC1")


@cache
def molecules(kind: str | None, **options: int) -> Dataset:
    """Sixty of six scaffolds, twelve of them twice."""
    smiles = ["C" * (1 + i // 6) + RINGS[i % 6] for i in range(48)]
    frame = pandas.DataFrame({"smiles": smiles + smiles[:12], "y": [i % 3 % 2 for i in range(60)]})
    return load_table(frame, split=kind, **options)


@given(
    st.sampled_from(["random", "stratified", "scaffold", None]),
    st.integers(2, 4),
    st.integers(0, 5),
    st.sampled_from([{}, {"folds": 3}]),
)
def test_they_are_splits_of_what_is_not_tested(
    kind: str | None, k: int, seed: int, options: dict[str, int]
) -> None:
    dataset = molecules(kind, **(options if kind else {}))
    split = dataset.folds[-1]
    inner = inner_folds(dataset, split, k, seed)
    assert len(inner) == k
    rest = torch.cat([split.train, split.valid]).sort().values
    of = groups_of(dataset, kind).of
    for each in inner:
        assert each.test is split.test
        assert torch.equal(torch.cat([each.train, each.valid]).sort().values, rest)
        assert len(each.train)
        assert not {*of[each.train].tolist()} & {*of[each.valid].tolist()}
    validated = torch.cat([each.valid for each in inner])
    assert torch.equal(validated.sort().values, rest)
    again = inner_folds(dataset, split, k, seed)
    assert [each.digest for each in again] == [each.digest for each in inner]


def test_another_seed_is_another_way_and_labels_stay_spread() -> None:
    y = torch.tensor([0] * 40 + [1] * 20)
    dataset = with_splits(Dataset.of(replace(classes(60), y=y)), "stratified", folds=5)
    split = dataset.folds[0]
    first, second = (inner_folds(dataset, split, 4, seed) for seed in (0, 1))
    assert {each.digest for each in first}.isdisjoint(each.digest for each in second)
    for each in first:
        assert torch.bincount(y[each.valid]).tolist() == [8, 4]


def test_graphs_of_a_split_that_was_given_are_parted_at_random() -> None:
    ids = torch.arange(20)
    split = Split(ids[:12], ids[12:14], ids[14:])
    dataset = Dataset.of(classes(20), (split,))
    assert dataset.split_kind == {}
    assert sorted(len(each.valid) for each in inner_folds(dataset, split, 4)) == [3, 3, 4, 4]


@pytest.mark.parametrize(
    ("make", "k", "message"),
    [
        (lambda: molecules("scaffold"), 9, "cannot make 9 inner folds of 5 scaffolds: k must be"),
        (lambda: molecules("random"), 1, "cannot make 1 inner folds of .* different molecules"),
        (lambda: Dataset.of(classes(20)), 19, "of 18 graphs: k must be from 2 to 18"),
    ],
)
def test_impossible_numbers(make: Callable[[], Dataset], k: int, message: str) -> None:
    dataset = make()
    with pytest.raises(DataError, match=message):
        inner_folds(dataset, dataset.folds[0], k)
