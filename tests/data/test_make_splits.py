"""Laws of the splits that are made, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_sets import classes

from gmpool.data import Dataset, Split, load, load_table, random_split, with_splits
from gmpool.data.kept_together import groups_of
from gmpool.data.make_splits import MOST_IDS, first_folds
from gmpool.errors import DataError, UserError

pytest.importorskip("rdkit")
RINGS = ("c1ccccc1", "C1CCCCC1", "c1ccncc1", "C1CCC1", "c1ccoc1", "C1CC1", "c1ccsc1", "")
KINDS = ("random", "stratified", "scaffold")


@cache
def molecules(count: int, repeated: int, seed: int) -> Dataset:
    """Molecules of eight scaffolds; so many are there again, written otherwise, other labels."""
    draws = np.random.RandomState(seed)
    made = []
    for number in range(count):
        ring, chain = RINGS[draws.randint(len(RINGS))], "C" * (number + 1)
        made.append((f"{chain}{ring}", f"{chain}{ring}"))
    again = [(f"[CH3]{text[1:]}" if text[0] == "C" else text, text) for text, _ in made[:repeated]]
    smiles = [text for text, _ in (*made, *again)]
    frame = pandas.DataFrame({"smiles": smiles, "y": draws.randint(0, 2, len(smiles)), "z": 1})
    frame.loc[draws.randint(len(smiles), size=3), "y"] = None
    return load_table(frame, label_columns=["y"], task="binary")


SETS = st.builds(molecules, st.integers(30, 50), st.integers(0, 20), st.integers(0, 5))


def parts_of(split: Split) -> list[set[int]]:
    return [set(ids.tolist()) for ids in (split.train, split.valid, split.test)]


def check_whole(split: Split, dataset: Dataset, kind: str) -> None:
    """Disjoint, complete, and no group cut."""
    parts = parts_of(split)
    assert sum(map(len, parts)) == len(set().union(*parts)) == len(dataset)
    of = groups_of(dataset, kind).of
    groups = [{int(of[i]) for i in part} for part in parts]
    assert sum(map(len, groups)) == len(set().union(*groups))


@given(SETS, st.sampled_from(KINDS), st.sampled_from(["80,10,10", "60,20,20", "90,10,0"]))
def test_one_split_is_whole_and_as_large_as_asked(dataset: Dataset, kind: str, sizes: str) -> None:
    made = with_splits(dataset, kind, split_sizes=sizes)
    (split,) = made.folds
    check_whole(split, dataset, kind)
    largest = int(groups_of(dataset, kind).sizes.max())
    for ids, share in zip(parts_of(split)[1:], map(int, sizes.split(",")[1:]), strict=True):
        if kind == "scaffold":
            assert len(ids) - len(dataset) * share / 100 <= largest
        else:
            assert abs(len(ids) - len(dataset) * share / 100) <= largest
        assert bool(ids) == bool(share)
    assert made.split_kind["sizes"] == [int(share) for share in sizes.split(",")]
    assert made.split_kind["groups"] == ("scaffold" if kind == "scaffold" else "molecule")
    assert made.graphs is dataset.graphs


@given(SETS, st.sampled_from(KINDS), st.integers(3, 6), st.integers(1, 3), st.integers(0, 5))
def test_every_graph_is_tested_once_in_each_repeat(
    dataset: Dataset, kind: str, k: int, repeats: int, seed: int
) -> None:
    made = with_splits(dataset, kind, folds=k, repeats=repeats, split_seed=seed)
    assert len(made.folds) == k * repeats
    largest = int(groups_of(dataset, kind).sizes.max())
    for repeat in range(repeats):
        folds = made.folds[k * repeat : k * (repeat + 1)]
        tested = torch.cat([split.test for split in folds])
        assert tested.sort().values.tolist() == list(range(len(dataset)))
        for number, split in enumerate(folds):
            check_whole(split, dataset, kind)
            assert torch.equal(split.valid, folds[number - 1].test)
            assert len(split.test) < len(dataset) / k + 1 + largest
    again = with_splits(dataset, kind, folds=k, repeats=repeats, split_seed=seed)
    assert digests(again) == digests(made)
    assert with_splits(dataset, kind, folds=k, split_seed=seed).folds[0].digest == digests(made)[0]


def digests(dataset: Dataset) -> list[str]:
    return [split.digest for split in dataset.folds]


@pytest.mark.parametrize("kind", KINDS)
def test_other_seeds_and_repeats_are_other_splits(kind: str) -> None:
    smiles = [f"C1{'C' * (i // 2 + 2)}1{'C' * (i % 2)}" for i in range(50)]  # 25 scaffolds
    dataset = load_table(pandas.DataFrame({"smiles": smiles, "y": [i % 3 % 2 for i in range(50)]}))
    made = [with_splits(dataset, kind, folds=3, repeats=3, split_seed=seed) for seed in range(3)]
    sets = [frozenset(digests(each)[3 * r : 3 * r + 3]) for each in made for r in range(3)]
    assert len(set(sets)) == 9
    if kind != "scaffold":
        assert len({digests(with_splits(dataset, kind, split_seed=s))[0] for s in range(5)}) == 5


def test_no_fold_is_there_twice_though_the_largest_scaffolds_are_always_tested_alone() -> None:
    """As in ESOL, where two of five folds are one scaffold each."""
    smiles = ["c1ccccc1" + "C" * i for i in range(1, 40)] + ["C" * i for i in range(1, 30)]
    smiles += [f"C1{'C' * i}1" for i in range(2, 22)]
    frame = pandas.DataFrame({"smiles": smiles, "y": [i % 3 % 2 for i in range(len(smiles))]})
    made = load_table(frame, split="scaffold", folds=4, repeats=8)
    assert len(set(digests(made))) == 32
    assert len({frozenset(parts_of(split)[2]) for split in made.folds}) < 32


def test_a_random_split_of_different_molecules_is_the_one_that_nobody_asked_for() -> None:
    dataset = molecules(40, 0, 1)
    assert digests(with_splits(dataset, "random")) == digests(dataset)
    assert digests(dataset) == [random_split(40).digest]
    other = random_split(40, 7, (0.6, 0.2, 0.2)).digest
    assert digests(with_splits(dataset, "random", split_seed=7, split_sizes="60,20,20")) == [other]


def test_graphs_that_are_no_molecules_are_split_too() -> None:
    dataset = Dataset.of(classes(30))
    assert dataset.split_kind == {"kind": "stratified", "folds": 10, "repeats": 1, "seed": 0}
    made = with_splits(dataset, "stratified", folds=5, repeats=2, split_seed=4)
    assert made.split_kind == {"kind": "stratified", "folds": 5, "repeats": 2, "seed": 4}
    y = made.graphs.y
    assert all(torch.bincount(y[split.test]).tolist() == [3, 3] for split in made.folds)
    assert with_splits(dataset, "random").folds[0].digest == random_split(30).digest
    assert with_splits(dataset, "random").split_kind == {
        "kind": "random", "sizes": [80, 10, 10], "seed": 0,
    }  # fmt: skip
    assert with_splits(dataset) is dataset
    assert digests(with_splits(dataset, folds=4)) == digests(dataset)[:4]
    told = with_splits(dataset, folds=4).understood[-1]
    assert told.startswith("folds: 4 (stratified, always the same, the first 4 of 10); the first:")


def test_a_stratified_split_keeps_shares_of_classes_and_quantiles() -> None:
    y = torch.tensor([0] * 70 + [1] * 20 + [2] * 10)
    graphs = replace(classes(100), y=y, class_names=("a", "b", "c"))
    (split,) = with_splits(Dataset.of(graphs), "stratified", split_seed=3).folds
    for ids, asked in (
        (split.valid, [7, 2, 1]),
        (split.test, [7, 2, 1]),
        (split.train, [56, 16, 8]),
    ):
        assert torch.bincount(y[ids], minlength=3).tolist() == asked
    numbers = torch.rand(100, 1, generator=torch.Generator().manual_seed(1)) ** 3
    graphs = replace(graphs, y=numbers, task="regression", task_names=("y",), class_names=())
    (split,) = with_splits(Dataset.of(graphs), "stratified").folds
    tenths = numbers[:, 0].argsort().argsort() // 10
    assert torch.bincount(tenths[split.test], minlength=10).tolist() == [1] * 10
    assert torch.bincount(tenths[split.valid], minlength=10).tolist() == [1] * 10


def test_what_was_made_is_told() -> None:
    dataset = molecules(40, 6, 0)
    told = with_splits(dataset, "random", split_seed=3).understood
    assert told[-1] == (
        "split: 36 train, 5 valid, 5 test (random 80/10/10, seed 3; 6 molecules are in several "
        "rows, all in one part)"
    )
    folds = with_splits(dataset, "stratified", folds=4, repeats=2)
    assert folds.understood[-1].startswith(
        "folds: 8 (stratified, 4 folds × 2 repeats, seed 0; 6 molecules are in several rows"
    )
    assert folds.split_kind == {
        "kind": "stratified", "folds": 4, "repeats": 2, "seed": 0, "groups": "molecule",
        "repeated_molecules": 6,
    }  # fmt: skip
    scaffold = with_splits(dataset, "scaffold")
    largest = int(groups_of(dataset, "scaffold").sizes.max())
    assert (
        f"(scaffold 80/10/10, always the same; 8 scaffolds, the largest of {largest} mol"
        in (scaffold.understood[-1])
    )
    assert scaffold.split_kind == {
        "kind": "scaffold", "sizes": [80, 10, 10], "groups": "scaffold", "repeated_molecules": 6,
        "scaffolds": 8,
    }  # fmt: skip
    uneven = with_splits(dataset, "scaffold", folds=8).split_reason
    sizes = groups_of(dataset, "scaffold").sizes
    assert f"from {sizes.min()} to {sizes.max()} are tested" in uneven


def test_molecules_in_several_parts_are_warned_of_where_nothing_was_asked() -> None:
    cut = molecules(40, 20, 0)
    assert cut.understood[-1].startswith("warning: ")
    assert (
        "molecules are in several rows that lie in several parts of the split; --split random"
        in (cut.understood[-1])
    )
    assert not any("several rows that lie" in line for line in molecules(40, 0, 0).understood)


BAD: list[tuple[Callable[[], object], type[Exception], str]] = [
    (
        lambda: with_splits(Dataset.of(classes(9)), "scaffold"),
        UserError, "--split scaffold is for tables of molecules, and shapes is none; take --split",
    ),
    (
        lambda: with_splits(molecules(40, 0, 0), "scaffold", folds=9),
        DataError, "table has 8 scaffolds, too few for 9 folds; take --folds 8 or fewer, or --s",
    ),
    (
        lambda: with_splits(molecules(30, 10, 0), "random", folds=31),
        DataError, "table has 30 different molecules, too few for 31 folds; take --folds 30 or",
    ),
    (
        lambda: with_splits(Dataset.of(classes(2)), "random"),
        DataError, "shapes has 2 graphs, too few for 3 parts; take more data",
    ),
    (
        lambda: with_splits(Dataset.of(classes(30)), "random", folds=3, repeats=MOST_IDS),
        UserError, "take fewer --folds or --repeats",
    ),
    (
        lambda: with_splits(Dataset.of(classes(3)), "random", folds=3, repeats=3),
        DataError, "shapes: 3 graphs make only 2 different shuffles of 3 folds; take fewer --rep",
    ),
    (
        lambda: with_splits(unlabelled(), "stratified"),
        UserError, "--split stratified spreads labels evenly, and shapes has none; name a label",
    ),
    (
        lambda: with_splits(Dataset.of(classes(30)), folds=11),
        UserError, "shapes has 10 folds, got --folds 11; take 1 to 10, or have folds made with",
    ),
    (
        lambda: with_splits(molecules(40, 0, 0), folds=5),
        UserError, "table has one split, not folds, got --folds 5; leave --folds out, or have",
    ),
    (
        lambda: first_folds(unlabelled(), 3),
        UserError, "shapes has no split, got --folds 3; leave --folds out",
    ),
    (
        lambda: with_splits(Dataset.of(classes(30)), split_seed=1),
        UserError, "--split-seed is for a split that is made, and shapes has 10 folds; leave it",
    ),
    (
        lambda: with_splits(Dataset.of(classes(30)), "time"),
        UserError, "--split time needs the column",
    ),
]  # fmt: skip


def unlabelled() -> Dataset:
    return Dataset.of(replace(classes(9), y=None, task=None, task_names=(), class_names=()))


@pytest.mark.parametrize(("make", "error", "message"), BAD, ids=[each[2] for each in BAD])
def test_what_cannot_be_made_says_what_to_do(
    make: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make()


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "sizes", "scaffolds"),
    [
        ("esol", (902, 113, 113), 269),
        ("freesolv", (513, 64, 65), 63),
        ("ogbg-molbbbp", (1631, 204, 204), 1102),
    ],
)
def test_the_scaffold_split_is_the_published_one(
    name: str, sizes: tuple[int, ...], scaffolds: int, data_root: Path
) -> None:
    published = load(data_root / f"{name}.csv.gz")
    assert published.split_kind == {"kind": "column", "column": "split"}
    made = load(data_root / f"{name}.csv.gz", split="scaffold")
    assert digests(made) == digests(published)
    assert tuple(map(len, parts_of(made.folds[0]))) == sizes
    assert made.split_kind["scaffolds"] == scaffolds
