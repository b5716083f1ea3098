from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from small_sets import classes

from gmpool.data import Dataset
from gmpool.data.kept_together import Groups
from gmpool.data.molecule_groups import MoleculeGroups
from gmpool.data.ordered_splits import Times
from gmpool.data.split_request import SplitRequest
from gmpool.data.split_words import described, in_words
from gmpool.data.splits import Split

IDS = torch.arange(6)
SPLIT = Split(IDS[:3], IDS[3:4], IDS[4:])
ALONE = Groups(np.arange(6), "graphs")


def test_a_split_of_graphs_says_its_shares_and_its_seed() -> None:
    request = SplitRequest.of("stratified", split_seed=4, split_sizes="70,15.5,14.5")
    data = Dataset.of(classes(6))
    assert in_words(data, request, ALONE, [SPLIT]) == "stratified 70/15.5/14.5, seed 4"
    assert described(data, request, ALONE) == {
        "kind": "stratified", "sizes": [70, 15.5, 14.5], "seed": 4,
    }  # fmt: skip


def test_uneven_folds_say_how_many_are_tested() -> None:
    request = SplitRequest.of("random", folds=3, repeats=2)
    other = Split(IDS[2:], IDS[1:2], IDS[:1])
    third = Split(IDS[:2], IDS[2:3], IDS[3:])
    said = in_words(Dataset.of(classes(6)), request, ALONE, [SPLIT, other, third])
    assert said == "random, 3 folds × 2 repeats, seed 0; from 1 to 3 are tested"


def test_a_split_by_time_says_from_when_on_is_tested() -> None:
    pytest.importorskip("rdkit")
    values = torch.tensor([1.0, 2, 3, 4, 2, 5], dtype=torch.float64)
    times = Times("year", values, ("1", "2", "3", "4", "2", "05"))
    molecules = MoleculeGroups(["C", "N", "O", "S", "P", "P"])
    data = replace(Dataset.of(classes(6)), molecules=molecules, times=times)
    request = SplitRequest.of("time", time_column="year")
    assert in_words(data, request, ALONE, [SPLIT]) == (
        "time 80/10/10, always the same; tested from 05 on in column 'year'; "
        "1 molecule is in several rows, all in one part"
    )
    assert described(data, request, ALONE) == {
        "kind": "time", "sizes": [80, 10, 10], "column": "year", "groups": "molecule",
        "repeated_molecules": 1,
    }  # fmt: skip
    # Of other kinds the times say nothing.
    assert "column" not in described(data, SplitRequest.of("random"), ALONE)
    untested = Split(IDS[:3], IDS[3:], IDS[:0])
    assert "tested" not in in_words(data, request, ALONE, [untested])
