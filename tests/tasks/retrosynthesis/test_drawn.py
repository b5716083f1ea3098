"""What is drawn to learn from: the right one first, and wrong ones, each as likely as any other."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch
from made_up_reactions import MadeUp, made_up
from scipy.stats import chisquare
from torch import Tensor

from gmpool.tasks.retrosynthesis.data import Reactions
from gmpool.tasks.retrosynthesis.drawn import NEGATIVES, Drawn, draw

pytest.importorskip("rdkit")


@cache
def few() -> MadeUp:
    return made_up(5, reactions=20)


@cache
def many() -> MadeUp:
    """Products with more of everything than is drawn."""
    return made_up(
        1,
        reactions=12,
        products=5,
        centers=120,
        templates=900,
        molecules=200,
        matching=118,
        outcomes=100,
    )


@cache
def data(made: str) -> Reactions:
    return (few() if made == "few" else many()).dataset()


def drawn_of(found: Drawn, name: str, r: int, b: int) -> list[int]:
    slots, counts = getattr(found, f"{name}s"), getattr(found, f"{name}_counts")
    return slots[r, b, : counts[r, b]].tolist()


def batches(dataset: Reactions, replicas: int = 6, size: int = 5, seed: int = 0) -> Tensor:
    learnable = dataset.lists.learnable.nonzero()[:, 0]
    generator = torch.Generator().manual_seed(seed)
    at = torch.randint(len(learnable), (replicas, size), generator=generator)
    return learnable[at]


@pytest.mark.parametrize("made", ["few", "many"])
def test_right_ones_come_first_and_no_wrong_one_twice(made: str) -> None:
    dataset = data(made)
    lists, ids = dataset.lists, batches(dataset)
    found = draw(lists, ids, dataset.widest)
    for r in range(ids.shape[0]):
        for b, number in enumerate(ids[r].tolist()):
            begin = int(lists.template_ptr[number])
            center_of = lists.center_slot[begin : lists.template_ptr[number + 1]].tolist()
            centers, templates, outcomes = (
                drawn_of(found, name, r, b) for name in ("center", "template", "outcome")
            )
            positives = lists.positives[lists.positive_ptr[number] : lists.positive_ptr[number + 1]]
            assert templates[0] in positives.tolist()
            assert centers[0] == center_of[templates[0]]
            assert outcomes[0] == lists.truth[number]
            for each in (centers, templates, outcomes):
                assert len(set(each)) == len(each)
            count = {
                name: int(getattr(lists, f"{name}_ptr").diff()[number])
                for name in ("center", "template", "outcome")
            }
            assert max(centers) < count["center"]
            assert max(outcomes) < count["outcome"]
            assert len(centers) == min(count["center"], 1 + NEGATIVES)
            assert len(outcomes) == min(count["outcome"], 1 + NEGATIVES)
            same = [t for t, c in enumerate(center_of) if c == centers[0]]
            far = [t for t, c in enumerate(center_of) if c in centers[1:]]
            near = [t for t in templates if t in same]
            assert templates[: len(near)] == near, "those of the right center first"
            assert len(near) == min(len(same), 1 + NEGATIVES)
            assert set(templates[len(near) :]) <= set(far)
            assert len(templates) - len(near) == min(len(far), NEGATIVES)


def test_of_few_candidates_all_are_drawn() -> None:
    dataset = data("few")
    lists, ids = dataset.lists, batches(dataset)
    found = draw(lists, ids, dataset.widest)
    assert int(lists.template_ptr.diff().max()) <= NEGATIVES
    for r, row in enumerate(ids.tolist()):
        for b, number in enumerate(row):
            for name in ("center", "template", "outcome"):
                count = int(getattr(lists, f"{name}_ptr").diff()[number])
                assert sorted(drawn_of(found, name, r, b)) == list(range(count)), name


def test_of_many_some_are_drawn() -> None:
    dataset = data("many")
    counts = [ptr.diff().max() for ptr in (dataset.lists.center_ptr, dataset.lists.outcome_ptr)]
    assert min(counts) > 1 + NEGATIVES
    found = draw(dataset.lists, batches(dataset), dataset.widest)
    assert found.centers.shape == (6, 5, 1 + NEGATIVES)
    assert found.templates.shape == (6, 5, 1 + 2 * NEGATIVES)
    assert found.outcomes.shape == (6, 5, 1 + NEGATIVES)


def test_no_reaction_has_nothing() -> None:
    dataset = data("few")
    ids = torch.tensor([[dataset.empty, int(batches(dataset)[0, 0]), dataset.empty]])
    found = draw(dataset.lists, ids, dataset.widest)
    for name in ("center", "template", "outcome"):
        counts = getattr(found, f"{name}_counts")[0].tolist()
        assert (counts[0], counts[2]) == (0, 0)
        assert counts[1] > 0


def test_a_batch_has_its_own_draws_wherever_and_whenever_it_is() -> None:
    """Stacked and alone, first and last: a function of which reactions it has, in which order."""
    dataset = data("many")
    ids = batches(dataset, replicas=3)
    found = draw(dataset.lists, ids, dataset.widest)
    for r in range(3):
        alone = draw(dataset.lists, ids[r][None], dataset.widest)
        for mine, theirs in zip(alone, found, strict=True):
            assert torch.equal(mine[0], theirs[r])


def test_wider_lists_of_others_change_no_draw() -> None:
    dataset = data("many")
    ids, wide = batches(dataset), dataset.widest
    wider = wide._replace(centers=wide.centers + 9, templates=wide.templates + 33,
                          outcomes=wide.outcomes + 5, positives=wide.positives + 2)  # fmt: skip
    once, again = (draw(dataset.lists, ids, each) for each in (wide, wider))
    for name in ("center", "template", "outcome"):
        for r in range(ids.shape[0]):
            for b in range(ids.shape[1]):
                assert drawn_of(once, name, r, b) == drawn_of(again, name, r, b)


def test_another_order_or_other_company_is_another_draw() -> None:
    dataset = data("many")
    row = dataset.lists.learnable.nonzero()[:4, 0]
    other = torch.stack([row, row.flip(0), row[[0, 1, 3, 2]], row[[0, 1, 2, 2]]])
    found = draw(dataset.lists, other, dataset.widest)
    sets = [
        frozenset(drawn_of(found, "outcome", r, b)) for r, b in ((0, 0), (1, 3), (2, 0), (3, 0))
    ]
    assert len(set(sets)) == 4, "of the same reaction, in four batches"
    twice = [frozenset(drawn_of(found, "outcome", 3, b)) for b in (2, 3)]
    assert twice[0] != twice[1], "and twice in one batch"


def test_every_candidate_is_drawn_as_often_as_any_other() -> None:
    """Of the outcomes and the centers of one reaction, in many batches."""
    dataset = data("many")
    lists = dataset.lists
    number = int(lists.learnable.nonzero()[0, 0])
    others = batches(dataset, replicas=600, size=6, seed=3)
    ids = torch.cat([others, torch.full((600, 1), number)], dim=1)
    found = draw(lists, ids, dataset.widest)
    for name, slots in (("outcome", found.outcomes), ("center", found.centers)):
        count = int(getattr(lists, f"{name}_ptr").diff()[number])
        assert count > 1 + NEGATIVES
        right = slots[:, 6, 0]
        times = np.bincount(slots[:, 6, 1:].flatten().numpy(), minlength=count)
        # A slot is wrong in those batches where it is not the right one.
        open_to = 600 - np.bincount(right.numpy(), minlength=count)
        expected = open_to * NEGATIVES / (count - 1)
        test = chisquare(times[expected > 5], expected[expected > 5], sum_check=False)
        assert test.pvalue > 1e-4, name
    assert (found.outcomes[:, 6, 0] == lists.truth[number]).all()


def test_every_template_is_drawn_as_often_as_any_other_of_its_side() -> None:
    """Of the right center, and of the others, where there are more than are drawn."""
    made = made_up(8, reactions=6, products=3, centers=2, templates=200, molecules=40, matching=2)
    dataset = made.dataset()
    lists = dataset.lists
    both = lists.center_ptr.diff()[:-1] == 2
    number = int((lists.learnable & both).nonzero()[0, 0])
    slots = slice(int(lists.template_ptr[number]), int(lists.template_ptr[number + 1]))
    center = lists.center_slot[slots].numpy()
    assert min(np.bincount(center)) > 1 + NEGATIVES
    ids = torch.cat([batches(dataset, replicas=600, size=8), torch.full((600, 1), number)], dim=1)
    found = draw(lists, ids, dataset.widest).templates[:, 8].numpy()
    assert found.shape == (600, 1 + 2 * NEGATIVES)
    right = found[:, 0]
    for side, drawn in (("same", found[:, 1 : 1 + NEGATIVES]), ("far", found[:, 1 + NEGATIVES :])):
        same = center[right][:, None] == center[None, :]  # [600, templates]
        open_to = same if side == "same" else ~same
        open_to[np.arange(600), right] = False
        expected = (open_to * NEGATIVES / open_to.sum(1, keepdims=True)).sum(0)
        times = np.bincount(drawn.flatten(), minlength=len(center))
        assert chisquare(times[expected > 5], expected[expected > 5], sum_check=False).pvalue > 1e-4


def test_right_templates_are_drawn_by_their_shares() -> None:
    """1 / (templates of the center), of those that make what is true."""
    dataset = data("many")
    lists = dataset.lists
    positives = lists.positive_ptr.diff()[:-1]
    number = int(positives.argmax())
    assert positives[number] >= 3
    others = batches(dataset, replicas=1000, size=6, seed=4)
    ids = torch.cat([torch.full((1000, 1), number), others], dim=1)
    found = draw(lists, ids, dataset.widest)
    slots = slice(int(lists.positive_ptr[number]), int(lists.positive_ptr[number + 1]))
    shares = np.diff(lists.shares[slots].double().numpy(), prepend=0.0)
    assert shares.max() / shares.min() > 1.2, "or it says nothing"
    drawn = found.templates[:, 0, 0].tolist()
    times = np.array([drawn.count(slot) for slot in lists.positives[slots].tolist()])
    assert times.sum() == 1000
    assert chisquare(times, 1000 * shares / shares.sum()).pvalue > 1e-4
