"""A batch of fixed shape holds what a plain loop over reactions and their candidates puts in it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_reactions import MadeUp, made_up
from small_gln import small_gln
from torch import Tensor

from gmpool.data.fixed_batch import FixedBatch
from gmpool.ops.sparse import Pattern
from gmpool.tasks.retrosynthesis import needs
from gmpool.tasks.retrosynthesis.assemble import distinct, pattern, ragged
from gmpool.tasks.retrosynthesis.batch import Bounds, ReactionBatch
from gmpool.tasks.retrosynthesis.data import Reactions
from gmpool.tasks.retrosynthesis.drawn import draw
from gmpool.tasks.retrosynthesis.features import (
    elements_of,
    feature_rows,
    graph_of_molecule,
    graph_of_pattern,
)

pytest.importorskip("rdkit")


@cache
def made(name: str = "few") -> MadeUp:
    if name == "few":
        return made_up(5, reactions=20)
    return made_up(
        1,
        reactions=14,
        products=6,
        centers=100,
        templates=600,
        molecules=200,
        matching=90,
        outcomes=300,
    )


@cache
def dataset(name: str = "few", *, queries: bool = False) -> Reactions:
    return made(name).dataset(queries=queries)


def one_of(batch: ReactionBatch, r: int) -> ReactionBatch:
    return batch.with_({name: tensor[r] for name, tensor in batch.tensors().items()})


def row(matrix: Pattern, ids: Tensor, at: int) -> list[int]:
    """The numbers that a row of a pattern has."""
    return ids[matrix.col[matrix.rowptr[at] : matrix.rowptr[at + 1]]].tolist()


def assert_holds(data: Reactions, ids: Tensor, batch: ReactionBatch, drawn: bool) -> None:
    """Of one replica. Templates are known by their center and their fragments."""
    lists, library = data.lists, data.prepared.library
    slots = draw(lists, ids[None], data.widest) if drawn else None
    fragments = [row(batch.contents, batch.fragments.ids, t)
                 for t in range(len(batch.template_center))]  # fmt: skip
    templates = [
        (int(batch.centers.ids[c]), *f)
        for c, f in zip(batch.template_center, fragments, strict=True)
    ]
    used: dict[str, set[int]] = {"centers": set(), "fragments": set(), "molecules": set()}
    for b, number in enumerate(ids.tolist()):
        is_real = number != data.empty
        assert bool(batch.real[b]) == is_real
        assert batch.products.ids[b] == lists.product[number]

        def chosen(name: str, b: int = b, number: int = number) -> list[int]:
            first = int(getattr(lists, f"{name}_ptr")[number])
            count = int(getattr(lists, f"{name}_ptr")[number + 1]) - first
            local = list(range(count))
            if slots is not None:
                local = getattr(slots, f"{name}s")[0, b].tolist()
                local = local[: getattr(slots, f"{name}_counts")[0, b]]
            return [first + slot for slot in local]

        graphs = data.center_graph[lists.centers[chosen("center")].long()].tolist()
        assert row(batch.matching, batch.centers.ids, b) == graphs
        used["centers"] |= set(graphs)
        begin, end = batch.choices.rowptr[b], batch.choices.rowptr[b + 1]
        found = [templates[col] for col in batch.choices.col[begin:end]]
        wanted = []
        for template in lists.templates[chosen("template")].tolist():
            center = int(data.center_graph[library.center_of[template]])
            ptr = data.templates.fragment_ptr
            of_template = data.templates.fragments[ptr[template] : ptr[template + 1]].tolist()
            wanted.append((center, *of_template))
            used["fragments"] |= set(of_template)
        assert found == wanted
        makes = lists.makes[chosen("template")].tolist()
        assert batch.makes[begin:end].tolist() == makes

        begin, end = batch.outcome_rows[b], batch.outcome_rows[b + 1]
        found, wanted = [], []
        for outcome in range(begin, end):
            entries = slice(int(batch.outcome_ptr[outcome]), int(batch.outcome_ptr[outcome + 1]))
            found.append(batch.molecules.ids[batch.reactants.col[entries]].tolist())
            assert batch.reactants.rows[entries].eq(b).all()
        for outcome in lists.outcomes[chosen("outcome")].tolist():
            part = slice(int(lists.molecule_ptr[outcome]), int(lists.molecule_ptr[outcome + 1]))
            wanted.append(lists.molecules[part].tolist())
            used["molecules"] |= set(wanted[-1])
        assert found == wanted
        if not drawn:
            assert_pairs(data, batch, b, number)
    for name, graphs in used.items():
        there = getattr(batch, name)
        assert there.ids[there.real > 0].tolist() == sorted(graphs), "each graph once"


def assert_pairs(data: Reactions, batch: ReactionBatch, b: int, number: int) -> None:
    """Of a batch with all candidates: slots are the same but for where they begin."""
    lists = data.lists
    choice, match = batch.choices.rowptr[b], batch.matching.rowptr[b]
    outcome, pair = batch.outcome_rows[b], slice(batch.pair_rows[b], batch.pair_rows[b + 1])
    part = slice(int(lists.pair_ptr[number]), int(lists.pair_ptr[number + 1]))
    assert torch.equal(batch.pair_choice[pair] - choice, lists.pair_template[part].long())
    assert torch.equal(batch.pair_outcome[pair] - outcome, lists.pair_outcome[part].long())
    truth = int(lists.truth[number])
    assert int(batch.truth[b]) == (int(outcome) + truth if truth >= 0 else -1)
    of_template = slice(int(lists.template_ptr[number]), int(lists.template_ptr[number + 1]))
    entries = slice(int(choice), int(batch.choices.rowptr[b + 1]))
    slots = lists.center_slot[of_template].long()
    assert torch.equal(batch.choice_match[entries] - match, slots)


def trained_on(data: Reactions, replicas: int, size: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    ids = data.split.train
    return ids[torch.randint(len(ids), (replicas, size), generator=generator)]


@pytest.mark.parametrize("name", ["few", "many"])
def test_batches_to_learn_from(name: str) -> None:
    data = dataset(name)
    ids = trained_on(data, 3, 5)
    ids[1, 3:] = data.empty
    batch = data.make(ids, data.bounds(ids))
    for r in range(3):
        assert_holds(data, ids[r], one_of(batch, r), drawn=True)


@pytest.mark.parametrize("name", ["few", "many"])
def test_batches_with_all_candidates(name: str) -> None:
    data = dataset(name)
    split = data.split
    ids = torch.cat([split.valid, split.test])[:6].view(2, 3)
    ids = torch.cat([ids, torch.full((2, 1), data.empty)], dim=1)
    batch = data.make(ids, data.bounds(ids))
    assert data.bounds(ids).whole
    for r in range(2):
        assert_holds(data, ids[r], one_of(batch, r), drawn=False)


@given(st.integers(0, 2**20), st.integers(0, 2**20), st.booleans())
@settings(max_examples=15)
def test_any_set_and_any_batch(seed: int, order: int, given_: bool) -> None:
    data = made_up(seed, reactions=10, molecules=16).dataset(given=given_)
    if not len(data.split.train):
        return
    ids = trained_on(data, 1, 4, order)
    assert_holds(data, ids[0], data.make(ids, data.bounds(ids)).alone(), drawn=True)
    whole = data.split.valid[None]
    assert_holds(data, whole[0], data.make(whole, data.bounds(whole)).alone(), drawn=False)


@pytest.mark.parametrize("queries", [False, True])
def test_graphs_of_a_batch_are_those_of_their_texts(queries: bool) -> None:
    """Features of every atom and its neighbours, from SMILES and SMARTS once more."""
    data = dataset("few", queries=queries)
    prepared = data.prepared
    elements = elements_of(prepared.arrays["atoms"])
    batch = data.make(data.split.valid[None], data.bounds(data.split.valid)).alone()
    center = {int(graph): text for graph, text in
              zip(data.center_graph, prepared.library.centers, strict=True)}  # fmt: skip
    texts = {"products": prepared.smiles, "molecules": prepared.smiles, "centers": center}
    for name, known in texts.items():
        graphs: FixedBatch = getattr(batch, name)
        assert graphs.graph is not None
        for at in range(len(graphs.ids)):
            if not graphs.real[at]:
                continue
            first, end = int(graphs.ptr[at]), int(graphs.ptr[at + 1])
            read = graph_of_pattern if name == "centers" else graph_of_molecule
            wanted = read(known[int(graphs.ids[at])])
            rows = feature_rows(np.array(wanted.atoms), elements, queries=queries)
            assert np.array_equal(batch.features[graphs.x[first:end].long()].numpy(), rows)
            for atom, neighbours in enumerate(wanted.neighbours, start=first):
                entries = slice(graphs.graph.rowptr[atom], graphs.graph.rowptr[atom + 1])
                assert (graphs.graph.col[entries] - first).tolist() == neighbours


def of_loss(data: Reactions, ids: Tensor, bounds: Bounds) -> tuple[Tensor, dict[str, Tensor]]:
    model = small_gln(data, method="mincut", pool={"num_clusters": 2})
    loss = model.loss(data.make(ids, bounds).alone(), model.phases[0])
    loss.backward()
    return loss.detach(), {n: p.grad for n, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("seed", range(3))
def test_more_room_than_is_needed_changes_nothing(seed: int) -> None:
    data = dataset()
    ids = trained_on(data, 1, 4, seed)
    bounds, rng = data.bounds(ids), np.random.default_rng(seed)
    wide = Bounds(0, *(n + int(rng.integers(0, 60)) for n in bounds[1:]))
    (loss, slopes), (same, others) = of_loss(data, ids, bounds), of_loss(data, ids, wide)
    torch.testing.assert_close(same, loss, rtol=1e-12, atol=1e-12)
    assert slopes.keys() == others.keys()
    for name, slope in slopes.items():
        torch.testing.assert_close(others[name], slope, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("seed", range(3))
def test_more_room_changes_no_rank(seed: int) -> None:
    data = dataset()
    model, ids = small_gln(data), data.split.valid[None]
    bounds, rng = data.bounds(ids), np.random.default_rng(seed)
    wide = Bounds(1, *(n + int(rng.integers(0, 60)) for n in bounds[1:]))
    narrow, wider = (model.evaluate(data.make(ids, each).alone()) for each in (bounds, wide))
    for mine, theirs in zip(narrow, wider, strict=True):
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize("name", ["few", "many"])
def test_bounds_hold_for_whatever_is_drawn(name: str) -> None:
    data = dataset(name)
    for seed in range(4):
        ids = trained_on(data, 25, 4, seed)
        assert not data.make(ids, data.bounds(ids)).features.isnan().any()
    for batch in data.batches(trained_on(data, 1, 40)[0], 3):
        assert not batch.features.isnan().any(), "alone as in a stack"


def test_some_of_many_batches_say_how_large_they_become(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "LOOKED_AT", 20)
    data = dataset("many")
    ids = trained_on(data, 120, 6)
    bounds = data.bounds(ids)
    for part in ids.split(30):
        assert not data.make(part, bounds).features.isnan().any()


def test_drawn_batches_have_less_room_than_whole_ones() -> None:
    data = dataset("many")
    ids = trained_on(data, 5, 4)
    drawn, whole = (data.needs.bounds(ids, whole=w) for w in (False, True))
    assert drawn.molecule_nodes < 0.8 * whole.molecule_nodes
    assert drawn.template_entries < 0.8 * whole.template_entries


FIELDS = [name for name in Bounds._fields if name not in ("whole", "pairs")]


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("whole", [False, True])
def test_a_batch_that_does_not_fit_is_not_a_number(name: str, whole: bool) -> None:
    """And not one that is learned from in part. Its neighbours are as they were."""
    data = dataset()
    sizes = data.needs.whole[: len(data), Bounds._fields.index(name) - 1]
    learnable = data.lists.learnable.nonzero()[:, 0]
    order = learnable[sizes[learnable].argsort()]
    ids = order[[0, -1]][:, None]  # a small reaction and a large one, each a batch
    bounds = data.needs.bounds(ids, whole=whole)
    assert not data.make(ids, bounds).features.isnan().any()
    tight = bounds._replace(**{name: getattr(bounds, name) - 2})
    found = data.make(ids, tight).features
    assert not found[0].isnan().any()
    assert found[1].isnan().all()
    model = small_gln(data)
    assert model.loss(one_of(data.make(ids, tight), 1), model.phases[0]).isnan()


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6), st.integers(0, 4))
def test_entries_of_owners_lie_one_after_the_other(counts: list[int], slack: int) -> None:
    made = ragged(torch.tensor([counts]), sum(counts) + slack)
    owners = [at for at, count in enumerate(counts) for _ in range(count)]
    assert made.owner[0].tolist() == owners + [len(counts)] * slack
    assert made.there[0].tolist() == [True] * len(owners) + [False] * slack
    assert made.ptr[0].tolist() == [*np.cumsum([0, *counts]).tolist(), sum(counts) + slack]
    assert made.fits.all()
    local = [k for count in counts for k in range(count)]
    assert made.local[0].tolist()[: len(local)] == local


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.integers(0, 6))
def test_distinct_numbers_once_each(values: list[int], slack: int) -> None:
    wanted = sorted(set(values) - {9})
    found = distinct(torch.tensor([values]), 9, len(wanted) + slack)
    assert found.fits.all()
    assert found.listed[0].tolist() == wanted + [9] * (slack + 1)
    assert found.listed[0][found.place[0]].tolist() == values
    if wanted:
        assert not distinct(torch.tensor([values]), 9, len(wanted) - 1).fits.any()


@given(st.lists(st.lists(st.integers(0, 4), max_size=4), min_size=1, max_size=4), st.integers(0, 5))
def test_a_pattern_and_its_transpose_are_one_matrix(rows: list[list[int]], slack: int) -> None:
    col = torch.tensor([[c for each in rows for c in each] + [4] * slack], dtype=torch.long)
    made = pattern(ragged(torch.tensor([[len(each) for each in rows]]), col.shape[1]), col, 5)
    entries = [(r, c) for r, each in enumerate(rows) for c in each]
    found = made.col[0].tolist()[: len(entries)]
    assert [(r, c) for (r, _), c in zip(entries, found, strict=True)] == entries
    transposed = []
    for c in range(5):
        for at in range(int(made.t_rowptr[0, c]), int(made.t_rowptr[0, c + 1])):
            transposed.append((int(made.t_col[0, at]), c))
    assert made.t_rowptr[0, -1] == col.shape[1]
    there = [(r, c) for r, c in transposed if r < len(rows)]
    assert sorted(there) == sorted(entries)
    assert len(transposed) == len(entries) + slack
