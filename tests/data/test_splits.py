from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gmpool.data import CATALOGUE, from_column, random_split, stratified_folds, ten_folds
from gmpool.data.splits import Split, folds_from_column, part_sizes, rotate, with_validation
from gmpool.errors import DataError, UserError

TU = [name for name, entry in CATALOGUE.items() if entry.kind == "tu"]


def check_partition(split: Split, n: int) -> None:
    together = torch.cat([split.train, split.valid, split.test])
    assert sorted(together.tolist()) == list(range(n))


@pytest.mark.parametrize("name", TU)
def test_published_folds(name: str) -> None:
    folds = ten_folds(name)
    n = CATALOGUE[name].graphs
    for f, split in enumerate(folds):
        check_partition(split, n)
        assert torch.equal(split.valid, folds[f - 1].test)
    assert len({split.digest for split in folds}) == 10


@pytest.mark.data
@pytest.mark.parametrize("name", TU)
def test_folds_equal_the_published_files(name: str, data_root: Path) -> None:
    with np.load(data_root / f"{name}_10fold.npz") as published:
        for f, split in enumerate(ten_folds(name), start=1):
            assert split.test.tolist() == sorted(published[f"test_{f}"].tolist())
            rest = sorted([*split.train.tolist(), *split.valid.tolist()])
            assert rest == sorted(published[f"train_{f}"].tolist())


def test_unknown_set() -> None:
    with pytest.raises(UserError, match="unknown set with published folds 'MUTAGG'; did you mean"):
        ten_folds("MUTAGG")


@pytest.mark.parametrize(
    "y",
    [
        torch.tensor([0] * 30 + [1] * 12 + [2] * 11),
        torch.tensor([[0.0]] * 30 + [[1.0]] * 12 + [[float("nan")]] * 11),
    ],
)
def test_stratified_folds_are_even(y: torch.Tensor) -> None:
    folds = stratified_folds(y, 5, seed=3)
    values = y.reshape(-1).nan_to_num(2.0)
    for split in folds:
        check_partition(split, 53)
        assert split.test.numel() in (10, 11)
        for value, count in ((0, 30), (1, 12), (2, 11)):
            assert abs(int((values[split.test] == value).sum()) - count / 5) < 1
    again, other = stratified_folds(y, 5, seed=3), stratified_folds(y, 5, seed=4)
    assert [s.digest for s in folds] == [s.digest for s in again]
    assert folds[0].digest != other[0].digest


@pytest.mark.parametrize("y", [torch.randn(20, 1), torch.ones(20, 3)])
def test_other_labels_give_random_folds(y: torch.Tensor) -> None:
    for split in stratified_folds(y, 4):
        check_partition(split, 20)
        assert split.test.numel() == 5


def test_too_many_folds() -> None:
    with pytest.raises(DataError, match="cannot make 10 folds of 4 graphs"):
        stratified_folds(torch.zeros(4), 10)


def test_fold_f_is_validated_on_the_one_before_it() -> None:
    folds = rotate(torch.tensor([0, 1, 2, -1, 1]), 3)
    assert [split.test.tolist() for split in folds] == [[0], [1, 4], [2]]
    assert [split.valid.tolist() for split in folds] == [[2], [0], [1, 4]]
    assert all(3 in split.train.tolist() for split in folds)


@given(st.integers(3, 200), st.integers(0, 100), st.integers(0, 100))
def test_sizes_of_parts_are_those_asked_for(count: int, first: int, second: int) -> None:
    low, high = sorted((first, second))
    fractions = (low / 100, (high - low) / 100, (100 - high) / 100)
    sizes = part_sizes(count, fractions)
    assert sum(sizes) == count
    for size, fraction in zip(sizes, fractions, strict=True):
        assert size >= (fraction > 0)
        assert abs(size - count * fraction) < 2.5


def test_random_split() -> None:
    split = random_split(100, seed=1)
    check_partition(split, 100)
    assert [p.numel() for p in (split.train, split.valid, split.test)] == [80, 10, 10]
    assert split.digest == random_split(100, seed=1).digest != random_split(100, seed=2).digest
    assert random_split(3).valid.numel() == 1
    assert random_split(5, fractions=(0.8, 0.2, 0.0)).test.numel() == 0
    assert "80/10/10" in repr(split)
    with pytest.raises(DataError, match="cannot split 2 graphs into 3 parts"):
        random_split(2)
    with pytest.raises(DataError, match="fractions must be positive and sum to 1"):
        random_split(9, fractions=(0.5, 0.2, 0.2))


def test_from_column() -> None:
    split = from_column(["train", "Val", "test", "valid", "train ", "DEV", "validation"])
    assert split.valid.tolist() == [1, 3, 5, 6]
    with pytest.raises(DataError, match=r"f\.csv:7: split 'tests' is not one of train"):
        from_column(["train", "tests"], where="f.csv", lines=[4, 7])
    with pytest.raises(DataError, match="split column, row 0: split ''"):
        from_column([""])


def test_folds_from_a_column_test_each_graph_once() -> None:
    for first in (0, 1):
        folds = folds_from_column([first + i % 5 for i in range(20)])
        assert torch.cat([fold.test for fold in folds]).sort().values.tolist() == list(range(20))
        assert all(
            after.valid.tolist() == before.test.tolist() for before, after in pairwise(folds)
        )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0, 1] * 3, "at least three folds"),
        ([0, 1, 3] * 2, r"\(got 0, 1, 3\)"),
        ([2, 3, 4] * 2, "0 to k-1 or 1 to k"),
        ([0, 1, 2.5], "row 2: split '2.5' is not one of the numbers of the folds"),
        ([0, float("nan"), 2], "row 1: split ''"),
        ([0, 1, 1e30], "row 2: split '1e[+]30'"),
    ],
)
def test_numbers_that_are_no_folds(values: list[float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        folds_from_column(values)


def test_validation_is_taken_from_train_evenly_over_the_classes() -> None:
    y = torch.tensor([0, 0, 0, 1] * 20)
    split = Split(torch.arange(60), torch.tensor([], dtype=torch.int64), torch.arange(60, 80))
    whole = with_validation(split, y, "mine")
    assert torch.cat([whole.train, whole.valid]).sort().values.tolist() == list(range(60))
    assert torch.bincount(y[whole.valid]).tolist() in ([4, 2], [5, 1])
    assert whole.test is split.test
    assert with_validation(split, y, "mine").digest == whole.digest
    assert len(with_validation(split, None, "mine").valid) == 6
    with pytest.raises(DataError, match=r"mine: .*2 graphs of train are too few"):
        with_validation(Split(torch.arange(2), split.valid, split.test), y, "mine")
