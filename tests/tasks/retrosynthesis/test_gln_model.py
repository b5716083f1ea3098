"""GLN: three softmaxes, its decoding, its laws, and that stacked is as alone."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from eager_gln import EagerGLN
from made_up_reactions import MadeUp, made_up
from marks import DEVICES
from small_gln import LINES, TRAIN, DoubleRetrosynthesis, config_of, small_gln
from torch import Tensor

from gmpool.engine.stack.members import Member
from gmpool.engine.stack.turns import train_stacked
from gmpool.engine.train import Trained, train
from gmpool.tasks.retrosynthesis import decode
from gmpool.tasks.retrosynthesis import pack as packing
from gmpool.tasks.retrosynthesis.candidates import Candidates
from gmpool.tasks.retrosynthesis.data import Reactions
from gmpool.tasks.retrosynthesis.drawn import draw
from gmpool.tasks.retrosynthesis.encoders import POOLINGS
from gmpool.tasks.retrosynthesis.features import (
    MoleculeGraph,
    elements_of,
    feature_rows,
    graph_of_pattern,
)
from gmpool.tasks.retrosynthesis.frequency import frequency_ranks
from gmpool.tasks.retrosynthesis.model import GLN
from gmpool.tasks.retrosynthesis.top_k import MERGED, PUBLISHED

pytest.importorskip("rdkit")

EVERY = pytest.mark.parametrize("line", LINES.values(), ids=LINES)


@cache
def made() -> MadeUp:
    return made_up(5, reactions=20)


@cache
def dataset(*, queries: bool = False) -> Reactions:
    return made().dataset(queries=queries)


def whole(data: Reactions, ids: Sequence[int] | None = None) -> Any:
    """A batch with all candidates; of all reactions."""
    wanted = torch.tensor([list(range(len(data)) if ids is None else ids)])
    return data.make(wanted, data.needs.bounds(wanted, whole=True)).alone()


def test_all_poolings_are_here() -> None:
    assert {line["method"] for line in LINES.values()} == set(POOLINGS)


def surprise(scores: list[Tensor]) -> float:
    return float(torch.logsumexp(torch.stack(scores), 0) - scores[0])


def eager_loss(model: GLN, found: MadeUp, data: Reactions, ids: list[int]) -> float:
    """The mean over reactions of the three surprises, and the losses of poolings, which are means
    over the distinct graphs that are there."""
    eager, lists, library = EagerGLN(model, found, data), data.lists, found.library
    slots = draw(lists, torch.tensor([ids]), data.widest)
    total, centers, fragments = 0.0, set[int](), set[int]()
    for b, number in enumerate(ids):
        product = found.table.reactions[number].product

        def chosen(name: str, b: int = b, number: int = number) -> list[int]:
            first = int(getattr(lists, f"{name}_ptr")[number])
            count = int(getattr(slots, f"{name}_counts")[0, b])
            places = [first + s for s in getattr(slots, f"{name}s")[0, b, :count].tolist()]
            return getattr(lists, f"{name}s")[places].tolist()

        # All outcomes are candidates where classes are not given, so that slots are their numbers.
        at = slots.outcomes[0, b, : slots.outcome_counts[0, b]].tolist()
        outcomes = [found.candidates_of(number).outcomes[slot] for slot in at]
        total += surprise([eager.center(product, c) for c in chosen("center")])
        total += surprise([eager.template(product, t) for t in chosen("template")])
        total += surprise([eager.outcome(product, each) for each in outcomes])
        centers |= set(chosen("center"))
        fragments |= {f for t in chosen("template") for f in library.fragments_of[t]}
    # Centers that look alike are one graph.
    center_texts = {int(data.center_graph[c]): library.centers[c] for c in centers}
    by_look = {tuple(map(tuple, look(data, f))): library.fragments[f] for f in fragments}
    more = 0.0
    for encoder, texts in (
        (model.centers, center_texts), (model.templates.center, center_texts),
        (model.templates.fragment, by_look),
    ):  # fmt: skip
        more += np.mean([eager.encode(encoder, text, True)[1] for text in texts.values()])
    return total / len(ids) + float(more)


def look(data: Reactions, fragment: int) -> list[list[int]]:
    """What an encoder sees of a fragment: kinds of atoms by their features, and neighbours."""
    graph = graph_of_pattern(data.prepared.library.fragments[fragment])
    elements = elements_of(data.prepared.arrays["atoms"])
    rows = feature_rows(np.array(graph.atoms), elements, queries=data.queries)
    return [*rows.astype(int).tolist(), *graph.neighbours]


@EVERY
def test_three_softmaxes_by_hand(line: dict[str, Any]) -> None:
    data = dataset()
    model = small_gln(data, **line)
    ids = data.split.train[[0, 3, 4, 0]]
    batch = data.make(ids[None], data.bounds(ids)).alone()
    found = model.loss(batch, model.phases[0])
    wanted = eager_loss(model, made(), data, ids.tolist())
    assert float(found.detach()) == pytest.approx(wanted, rel=1e-9)


def test_reactions_that_are_not_there_do_not_count() -> None:
    data = dataset()
    model, ids = small_gln(data, **LINES["mincut"]), data.split.train[:3]
    filled = torch.cat([ids, torch.full((4,), data.empty)])[None]
    batch = data.make(filled, data.bounds(filled)).alone()
    # The draws are those of the filled batch: with few candidates all are drawn anyway.
    alone = data.make(ids[None], data.bounds(ids)).alone()
    for other in (batch, alone):
        loss = model.loss(other, model.phases[0])
        wanted = eager_loss(model, made(), data, ids.tolist())
        assert float(loss.detach()) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("queries", [False, True])
def test_scores_of_all_candidates_by_hand(queries: bool) -> None:
    data, found = dataset(queries=queries), made()
    model = small_gln(data, **LINES["gmpool over nodes"])
    eager, batch = EagerGLN(model, found, data), whole(data)
    scores, lists = model.scores(batch), data.lists
    for number in range(0, len(data), 3):
        product = found.table.reactions[number].product
        first = int(batch.matching.rowptr[number])
        for at in range(int(lists.center_ptr[number]), int(lists.center_ptr[number + 1])):
            wanted = eager.center(product, int(lists.centers[at]))
            got = scores.matching[first + at - lists.center_ptr[number]]
            torch.testing.assert_close(got, wanted, rtol=1e-9, atol=1e-9)
        first = int(batch.choices.rowptr[number])
        for at in range(int(lists.template_ptr[number]), int(lists.template_ptr[number + 1])):
            wanted = eager.template(product, int(lists.templates[at]))
            got = scores.choices[first + at - lists.template_ptr[number]]
            torch.testing.assert_close(got, wanted, rtol=1e-9, atol=1e-9)


def by_force(
    eager: EagerGLN, found: MadeUp, number: int, centers: int, templates: int
) -> tuple[int, int]:
    """(rank as published, with duplicates merged), loop by loop."""
    reaction, candidates = found.table.reactions[number], found.candidates_of(number)
    product, center_of = reaction.product, found.library.center_of

    def best(things: list[Any], scores: dict[Any, float], count: int | None = None) -> list[Any]:
        """Equal to four places: as they come."""
        ordered = sorted(things, key=lambda each: -round(scores[each] * 1e4))
        return ordered[:count]

    v1 = {c: float(eager.center(product, c)) for c in candidates.centers}
    kept = set(best(candidates.centers, v1, centers))
    made_by = {t: [candidates.outcomes[o] for o in numbers] for t, numbers in candidates.runs}
    v12 = {
        t: v1[center_of[t]] + float(eager.template(product, t))
        for t in made_by
        if center_of[t] in kept
    }
    reached = set(best(sorted(v12), v12, templates))
    pairs = [(t, o) for t in sorted(reached) for o in made_by[t]]
    total = {(t, o): v12[t] + float(eager.outcome(product, o)) for t, o in pairs}
    order = [outcome for _, outcome in best(pairs, total)]
    if reaction.reactants not in order:
        return 0, 0
    at = order.index(reaction.reactants)
    return at + 1, len(set(order[:at])) + 1


@pytest.mark.parametrize(("centers", "templates"), [(50, 50), (2, 50), (50, 3), (1, 1), (3, 4)])
@pytest.mark.parametrize("seed", [5, 6])
def test_decoding_by_force(
    centers: int, templates: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decode, "CENTERS", centers)
    monkeypatch.setattr(decode, "TEMPLATES", templates)
    found = made_up(seed, reactions=16)
    data = found.dataset()
    model = small_gln(data, seed)
    published, merged, real = model.evaluate(whole(data))
    eager = EagerGLN(model, found, data)
    wanted = [by_force(eager, found, number, centers, templates) for number in range(len(data))]
    assert list(zip(published.tolist(), merged.tolist(), strict=True)) == wanted
    assert real.tolist() == [1.0] * len(data)
    if centers == templates == 50:
        reached = [rank > 0 for rank, _ in wanted]
        assert reached == data.lists.learnable.tolist(), "nothing is left out"
        assert any(mine < theirs for theirs, mine in wanted), "some outcomes come twice"


def test_equal_scores_are_put_in_the_order_of_frequency(monkeypatch: pytest.MonkeyPatch) -> None:
    data = dataset()
    model = small_gln(data)
    with torch.no_grad():
        for bilinear in model.bilinear:
            bilinear.weight.normal_(0, 1e-9)  # equal but for rounding, so to speak
    published, merged, _ = model.evaluate(whole(data))
    wanted = frequency_ranks(data, np.arange(len(data)))
    assert published.tolist() == wanted[PUBLISHED].tolist()
    assert merged.tolist() == wanted[MERGED].tolist()
    monkeypatch.setattr(decode, "TEMPLATES", 2)
    few, _, _ = model.evaluate(whole(data))
    assert (few <= published).all(), "what is left is in the same order"
    assert (few < published).any()


def test_ranks_do_not_depend_on_company() -> None:
    data = dataset()
    model = small_gln(data, **LINES["gmt"])
    together = model.evaluate(whole(data))
    for number in range(len(data)):
        alone = model.evaluate(whole(data, [number]))
        assert [int(rows[0]) for rows in alone] == [int(rows[number]) for rows in together]


def test_a_product_without_candidates_is_not_found() -> None:
    found = made_up(3, reactions=30)
    data = found.dataset(given=True)
    none = (data.lists.center_ptr.diff()[:-1] == 0).nonzero()[:, 0].tolist()
    assert none
    published, merged, real = small_gln(data).evaluate(whole(data, none))
    assert not published.any()
    assert not merged.any()
    assert real.all()


def test_the_loss_of_a_validation_is_one_less_the_mean_inverse_rank() -> None:
    model = small_gln(dataset())
    rows = torch.tensor([1, 0, 4, 2]), torch.tensor([1, 0, 3, 2]), torch.tensor([1.0, 1, 1, 0])
    loss, top = model.judge(*rows)
    assert float(loss) == pytest.approx(1 - (1 + 0 + 0.25) / 3)
    assert float(top) == pytest.approx(100 / 3)


def shuffled(graph: MoleculeGraph, source: random.Random) -> MoleculeGraph:
    """The same graph with its atoms in another order."""
    order = list(range(len(graph.atoms)))
    source.shuffle(order)  # order[new] = old
    place = {old: new for new, old in enumerate(order)}
    near = [sorted(place[j] for j in graph.neighbours[old]) for old in order]
    return MoleculeGraph([graph.atoms[old] for old in order], near)


@EVERY
def test_the_order_of_atoms_does_not_count(
    line: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found, data = made(), dataset()
    source = random.Random(3)
    for name in ("graph_of_molecule", "graph_of_pattern"):
        read = getattr(packing, name)
        monkeypatch.setattr(packing, name, lambda text, read=read: shuffled(read(text), source))
    other = Reactions.of(packing.pack(found.table, found.library, found.products, found.candidates))
    assert not np.array_equal(
        other.prepared.arrays["molecules.atoms"], found.prepared.arrays["molecules.atoms"]
    )
    model = small_gln(data, **line)
    mine, theirs = (model.scores(whole(each)) for each in (data, other))
    for name in ("matching", "choices", "outcomes"):
        one, two = getattr(mine, name), getattr(theirs, name)
        torch.testing.assert_close(two[: len(one) - 1], one[:-1], rtol=0, atol=1e-10)
    for one, two in zip(model.evaluate(whole(data)), model.evaluate(whole(other)), strict=True):
        assert torch.equal(one, two)


def test_the_order_of_candidates_does_not_count() -> None:
    """Centers, templates and outcomes in another order, where no two scores are equal."""
    rng = np.random.default_rng(1)
    found = made()
    others = []
    for centers, runs, outcomes in found.candidates:
        order = rng.permutation(len(outcomes))  # order[new] = old
        place = np.argsort(order)
        moved = [(t, rng.permutation(place[numbers]).tolist()) for t, numbers in runs]
        moved = [moved[at] for at in rng.permutation(len(moved))]
        shuffled_centers = rng.permutation(centers).tolist()
        others.append(Candidates(shuffled_centers, moved, [outcomes[old] for old in order]))
    prepared = packing.pack(found.table, found.library, found.products, others)
    data, other = dataset(), Reactions.of(prepared)
    model = small_gln(data, method="sum")
    mine, theirs = model.ranked(whole(data)), model.ranked(whole(other))
    assert torch.equal(mine.merged, theirs.merged)
    for number in range(len(data)):
        totals = [
            ranked.totals[batch.pair_rows[number] : batch.pair_rows[number + 1]].sort().values
            for ranked, batch in ((mine, whole(data)), (theirs, whole(other)))
        ]
        torch.testing.assert_close(*totals, rtol=0, atol=1e-10)


@cache
def several() -> Reactions:
    """For trainings: each part has several batches."""
    return made_up(9, reactions=40, products=12, molecules=30).dataset()


def members(lines: list[dict[str, Any]]) -> list[Member]:
    rates = (1e-2, 3e-3)
    return [
        Member(several().split, config_of(**line), replace(TRAIN, lr=rates[seed % 2]), seed)
        for seed, line in enumerate(lines)
    ]


@pytest.mark.parametrize("device", DEVICES)
@EVERY
def test_stacked_equals_alone_over_twelve_steps(line: dict[str, Any], device: str) -> None:
    """In float64: losses, weights, and the ranks of validation and test."""
    assert TRAIN.epochs * (TRAIN.epoch_steps or 0) == 12
    task, data, runs = DoubleRetrosynthesis(), several(), members([line, line, line])
    together = train_stacked(task, data, runs, device=device)
    for (split, model, config, seed), stacked in zip(runs, together, strict=True):
        single = train(task, data, split, model, config, seed=seed, device=device)
        assert isinstance(stacked, Trained)
        for mine, theirs in zip(single.curve, stacked.curve, strict=True):
            assert mine.train_loss == pytest.approx(theirs.train_loss, rel=1e-8)
            assert mine.valid_loss == pytest.approx(theirs.valid_loss, rel=1e-6)
            assert mine.valid_metric == pytest.approx(theirs.valid_metric, rel=1e-6)
        moved = dict(single.model.named_parameters())
        for name, weight in stacked.model.named_parameters():
            torch.testing.assert_close(weight.cpu(), moved[name].cpu(), rtol=1e-7, atol=1e-9)
        for part in ("valid", "test"):
            ranks = [[rows[real > 0] for rows in (*ranks, real)]
                     for *ranks, real in (single.outputs[part], stacked.outputs[part])]  # fmt: skip
            for one, two in zip(*ranks, strict=True):
                assert one.tolist() == two.tolist(), part


def test_a_run_again_has_the_same_bits() -> None:
    task, data = DoubleRetrosynthesis(), several()
    split, model, config, seed = members([LINES["gmpool over nodes"]])[0]
    one, two = (train(task, data, split, model, config, seed=seed) for _ in range(2))
    assert one.curve == two.curve
    for name, weight in one.model.state_dict().items():
        assert torch.equal(weight, two.model.state_dict()[name]), name


@EVERY
def test_every_encoder_is_learned(line: dict[str, Any]) -> None:
    data = several()
    model, ids = small_gln(data, **line), data.split.train[:8]
    model.loss(data.make(ids[None], data.bounds(ids)).alone(), model.phases[0]).backward()
    wanted = ("inputs.weight", "messages.weight", "rows.weight", "first.weight", "second.weight")
    learned = {
        name: float(weight.grad.abs().max()) > 1e-9
        for name, weight in model.named_parameters()
        if weight.grad is not None and (name.endswith(wanted) or name.startswith("bilinear"))
    }
    assert len(learned) == 7 * 3 + 2 + 3, "seven encoders, two layers for templates, three scores"
    assert all(learned.values()), learned


def test_poolings_share_the_encoders_that_are_not_exchanged() -> None:
    """So that runs of one seed can be compared pair by pair."""
    mean, gmpool = (small_gln(dataset(), **LINES[name]) for name in ("mean", "gmpool over nodes"))
    for one, two in zip(mean.products.parameters(), gmpool.products.parameters(), strict=True):
        assert torch.equal(one, two)
    for one, two in zip(mean.bilinear.parameters(), gmpool.bilinear.parameters(), strict=True):
        assert torch.equal(one, two)
