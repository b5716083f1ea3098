"""What is held out of the graphs to learn from."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch

from gmpool.data import PackedGraphs, Split
from gmpool.errors import DataError, UserError, WrongType
from gmpool.estimators.graph_estimator import with_labels
from gmpool.estimators.inputs import packed
from gmpool.estimators.targets import class_fields, columns_of
from gmpool.estimators.validation import held_out

RINGS = ["C1CCCCC1", "c1ccccc1", "C1CCCC1", "C1CC1", "C1CCNCC1", "c1ccncc1", "C1CCOC1", "C1CNC1"]


def labelled(X: Any, y: Any = None) -> PackedGraphs:
    y = [row % 2 for row in range(len(X))] if y is None else y
    table, names, _ = columns_of(y, len(X))
    return with_labels(packed(X), class_fields(table, names)[0])


def parts_of(X: Any, split: str, share: Any = 0.3, seed: int = 0, y: Any = None) -> Split:
    (found,) = held_out(labelled(X, y), split, share, seed).folds
    assert not len(found.test)
    assert sorted([*found.train.tolist(), *found.valid.tolist()]) == [*range(len(X))]
    return found


@pytest.mark.parametrize("split", ["random", "stratified", "scaffold"])
def test_a_share_is_held_out_and_nothing_is_tested(split: str) -> None:
    found = parts_of(RINGS, split, 0.25)
    assert (len(found.train), len(found.valid)) == (6, 2)


@pytest.mark.parametrize("share", [0.5, Fraction(1, 2), np.float32(0.5), np.float64(0.5)])
def test_a_share_of_any_kind_of_number(share: Any) -> None:
    assert len(parts_of(RINGS, "random", share).valid) == 4


def test_seeds_hold_out_others_but_of_scaffolds() -> None:
    for split, differ in (("random", True), ("stratified", True), ("scaffold", False)):
        found = {tuple(parts_of(RINGS, split, seed=seed).valid.tolist()) for seed in range(5)}
        assert (len(found) > 1) == differ
        again = [parts_of(RINGS, split, seed=3).valid.tolist() for _ in range(2)]
        assert again[0] == again[1]


def test_classes_are_as_frequent_in_both_parts() -> None:
    chains = ["C" * n for n in range(1, 21)]
    for seed in range(3):
        found = parts_of(chains, "stratified", 0.2, seed, y=[0] * 15 + [1] * 5)
        assert (found.valid < 15).sum() == 3
        assert (found.valid >= 15).sum() == 1


@pytest.mark.parametrize("split", ["random", "stratified", "scaffold"])
def test_a_molecule_is_never_in_both_parts(split: str) -> None:
    """However it is written."""
    twice = ["OCC", "C1CCCCC1O", "CCO", "OC1CCCCC1", "C(C)O", "c1ccccc1", "C1=CC=CC=C1", "CN", "NC"]
    owner = torch.tensor([0, 1, 0, 1, 0, 2, 2, 3, 3])
    for seed in range(6):
        found = parts_of(twice, split, 0.3, seed)
        assert len(found.valid)
        assert not set(owner[found.train].tolist()) & set(owner[found.valid].tolist())


def test_a_scaffold_is_never_in_both_parts() -> None:
    X = [ring + end for ring in RINGS for end in ("", "C", "CC")]
    found = parts_of(X, "scaffold")
    assert len(found.valid)
    assert not set((found.train // 3).tolist()) & set((found.valid // 3).tolist())


WAY_OUT = "take split='random' or 'stratified'$"


def test_molecules_of_one_scaffold() -> None:
    one = f"^split='scaffold' needs molecules of two scaffolds, X has one; {WAY_OUT}"
    for X in (["C", "CC", "CCC", "CO"], ["C1CC1", "CC1CC1", "CCC1CC1"]):
        with pytest.raises(DataError, match=one):
            held_out(labelled(X), "scaffold", 0.3, 0)


def test_graphs_that_are_no_molecules_have_no_scaffold() -> None:
    graphs = [nx.cycle_graph(n) for n in range(3, 9)]
    with pytest.raises(UserError, match=f"is for molecules, and X holds none; {WAY_OUT}"):
        held_out(labelled(graphs), "scaffold", 0.3, 0)
    assert len(parts_of(graphs, "random").valid) == 2


@pytest.mark.parametrize("share", ["0.1", None, True, 0.1j, [0.1], np.array(0.1)])
def test_a_share_that_is_no_number(share: Any) -> None:
    with pytest.raises(WrongType, match=r"^validation is a share between 0 and 1, got "):
        held_out(labelled(RINGS), "random", share, 0)


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, np.nan, np.inf, 1e-9, 1 - 1e-9])
def test_a_share_that_holds_out_nothing_or_all(share: float) -> None:
    with pytest.raises(UserError, match=f"^validation is a share between 0 and 1, got {share}$"):
        held_out(labelled(RINGS), "random", share, 0)


@pytest.mark.parametrize("split", ["scafold", None, 3, ["random"], "time"])
def test_a_split_that_nobody_knows(split: Any) -> None:
    with pytest.raises(
        UserError, match=r"^unknown split .*\(known: random, scaffold, stratified\)"
    ):
        held_out(labelled(RINGS), split, 0.3, 0)


def test_too_few_to_hold_some_out() -> None:
    with pytest.raises(
        DataError, match=r"^X has 2 sample.*too few to learn from.*give at least 3$"
    ):
        held_out(labelled(RINGS[:2]), "random", 0.3, 0)
    assert len(parts_of(RINGS[:3], "random").valid) == 1
    with pytest.raises(DataError, match=r"X has 1 .*molecules, too few for 2 parts"):
        held_out(labelled(["CCO", "OCC", "C(O)C"]), "random", 0.3, 0)
