"""The candidates of reactions as flat lists hold what a plain loop over them finds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_reactions import UNSEEN, MadeUp, made_up
from reactions import small_set
from torch import Tensor

from gmpool.tasks.retrosynthesis.lists import CandidateLists, candidate_lists, expanded, offsets

pytest.importorskip("rdkit")


def part(values: Tensor, ptr: Tensor, at: int) -> list:
    return values[ptr[at] : ptr[at + 1]].tolist()


def assert_of(made: MadeUp, lists: CandidateLists, number: int, given_: bool) -> None:
    """Reaction by reaction, with numbers of templates and sets of SMILES instead of slots."""
    library, smiles = made.library, made.prepared.smiles
    reaction, found = made.table.reactions[number], made.candidates_of(number)

    def allowed(template: int) -> bool:
        return not given_ or reaction.group in library.counts[template]

    templates = [
        template
        for template in range(len(library.templates))
        if library.center_of[template] in found.centers and allowed(template)
    ]
    of_center = {
        center: [t for t in library.templates_of[center] if allowed(t)] for center in found.centers
    }
    centers = [center for center in found.centers if of_center[center]]
    made_by = {t: [found.outcomes[at] for at in numbers] for t, numbers in found.runs if allowed(t)}

    assert smiles[lists.product[number]] == reaction.product
    assert part(lists.centers, lists.center_ptr, number) == centers
    assert part(lists.templates, lists.template_ptr, number) == templates
    slots = part(lists.center_slot, lists.template_ptr, number)
    assert [centers[slot] for slot in slots] == [library.center_of[t] for t in templates]
    assert part(lists.makes, lists.template_ptr, number) == [t in made_by for t in templates]

    outcomes = []
    for outcome in part(lists.outcomes, lists.outcome_ptr, number):
        molecules = lists.molecules[lists.molecule_ptr[outcome] : lists.molecule_ptr[outcome + 1]]
        outcomes.append(tuple(smiles[molecule] for molecule in molecules.tolist()))
    assert len(set(outcomes)) == len(outcomes)
    assert set(outcomes) == {o for each in made_by.values() for o in each}
    pairs = zip(
        part(lists.pair_template, lists.pair_ptr, number),
        part(lists.pair_outcome, lists.pair_ptr, number),
        strict=True,
    )
    expected = [(t, outcome) for t, each in sorted(made_by.items()) for outcome in each]
    assert [(templates[t], outcomes[o]) for t, o in pairs] == expected

    right = [t for t in templates if reaction.reactants in made_by.get(t, ())]
    truth = int(lists.truth[number])
    assert (outcomes[truth] if truth >= 0 else None) == (reaction.reactants if right else None)
    assert [templates[s] for s in part(lists.positives, lists.positive_ptr, number)] == right
    assert bool(lists.learnable[number]) == bool(right)
    weights = np.array([1 / len(of_center[library.center_of[t]]) for t in right])
    shares = part(lists.shares, lists.positive_ptr, number)
    np.testing.assert_allclose(shares, np.cumsum(weights) / weights.sum(), rtol=1e-6)


@given(
    st.integers(0, 2**20), st.booleans(), st.integers(1, 8), st.integers(1, 12), st.integers(1, 12)
)
@settings(max_examples=60)
def test_lists_hold_what_a_loop_finds(
    seed: int, given_: bool, products: int, centers: int, matching: int
) -> None:
    made = made_up(
        seed, products=products, reactions=10, centers=centers, matching=matching, molecules=12
    )
    lists = candidate_lists(made.prepared, given=given_)
    for number in range(10):
        assert_of(made, lists, number, given_)
    assert lists.molecule_ptr[-1] == len(lists.molecules)


@pytest.mark.parametrize("given_", [False, True])
def test_a_last_reaction_has_nothing(given_: bool) -> None:
    lists = candidate_lists(made_up().prepared, given=given_)
    n = len(made_up().table.reactions)
    for name in ("center", "template", "outcome", "pair", "positive"):
        ptr = getattr(lists, f"{name}_ptr")
        assert len(ptr) == n + 2, name
        assert ptr[-1] == ptr[-2], name
    assert lists.truth[-1] == -1
    assert lists.product[-1] == len(made_up().prepared.smiles), "the number of no molecule"


def test_a_class_that_was_not_seen_has_no_candidates_when_classes_are_given() -> None:
    made = made_up(3, reactions=30)
    lists = candidate_lists(made.prepared, given=True)
    unseen = torch.tensor([each.group == UNSEEN for each in made.table.reactions])
    assert unseen.any()
    assert (lists.center_ptr.diff()[:-1] > 0)[~unseen].any()
    for name in ("center", "template", "outcome", "pair", "positive"):
        assert not getattr(lists, f"{name}_ptr").diff()[:-1][unseen].any(), name
    assert lists.truth[:-1][unseen].eq(-1).all()
    assert not lists.learnable[unseen].any()


def test_reactions_that_no_template_makes_are_not_trained_on() -> None:
    made = made_up(2, reactions=40, reachable=0.5)
    data = made.dataset()
    known = {n for n, r in enumerate(made.table.reactions)
             if r.reactants in made.candidates_of(n).outcomes}  # fmt: skip
    split, asked = data.split, made.table.split
    assert set(split.train.tolist()) == set(asked.train.tolist()) & known
    assert len(split.train) < len(asked.train)
    assert torch.equal(split.valid, asked.valid), "they count where it is scored"
    assert torch.equal(split.test, asked.test)


def test_real_templates_reach_what_is_true(tmp_path: Path) -> None:
    pytest.importorskip("rdchiral")
    prepared = small_set(tmp_path)
    for given_ in (False, True):
        lists = candidate_lists(prepared, given=given_)
        assert lists.learnable.all()
        assert lists.truth[:-1].ge(0).all()


@given(st.lists(st.integers(0, 4)))
def test_what_owners_have_so_many_of(counts: list[int]) -> None:
    owner, local = expanded(np.array(counts, dtype=np.int64))
    expected = [(at, k) for at, count in enumerate(counts) for k in range(count)]
    assert list(zip(owner.tolist(), local.tolist(), strict=True)) == expected
    assert offsets(np.array(counts)).tolist() == [sum(counts[:k]) for k in range(len(counts) + 1)]
