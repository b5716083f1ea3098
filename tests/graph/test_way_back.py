"""The way back of each bond, whoever made the edges."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from every_edges import first_replica
from graphs import random_batch
from hypothesis import given
from hypothesis import strategies as st
from molecule_sets import Molecule, molecule_lists, packed_molecules
from small_sets import classes
from torch import Tensor

from gmpool.data.fixed_batch import Bounds, FixedBatches
from gmpool.errors import UserError
from gmpool.graph.batch_edges import BatchEdges, NotDeclared
from gmpool.graph.edges import AnyEdges, Edges
from gmpool.graph.way_back import way_back


def assert_leads_back(edges: AnyEdges, names: Tensor | None = None) -> None:
    """names: what an entry and its way back have in common. [E]"""
    back, pattern = way_back(edges).long(), edges.entries.pattern
    assert torch.equal(back[back], torch.arange(len(back)))
    assert torch.equal(pattern.col.long()[back], pattern.rows)
    if names is not None:
        assert torch.equal(names[back], names)


@given(made=molecule_lists(), data=st.data())
def test_of_a_batch_of_a_set(made: list[Molecule], data: st.DataObject) -> None:
    """Two bonds that join the same two atoms go back each its own way."""
    graphs = packed_molecules(made)
    batch = graphs.batch(data.draw(st.lists(st.integers(0, len(made) - 1), max_size=6)))
    assert batch.edge_cat is not None
    assert_leads_back(BatchEdges(batch), batch.edge_cat[:, 0])


@given(made=molecule_lists(), data=st.data())
def test_of_a_batch_of_fixed_shape(made: list[Molecule], data: st.DataObject) -> None:
    """What is made up is its own way back, and joins atoms that are made up."""
    graphs = packed_molecules(made)
    ids = st.lists(st.integers(0, len(made)), min_size=3, max_size=3)  # the last + 1: none
    batches = FixedBatches(graphs, plain=True, attr=False, back=True)
    chosen = torch.tensor([data.draw(ids)])
    more = data.draw(st.integers(0, 4)) if graphs.num_edges else 0
    fixed = batches.make(chosen, Bounds(*(n + more for n in batches.bounds(chosen))))
    edges = BatchEdges(first_replica(fixed))
    back = way_back(edges)
    assert torch.equal(back[back], torch.arange(len(back)))
    real, rows = int(fixed.ptr[0, -2]), edges.entries.pattern.rows
    assert torch.equal(rows[back] < real, rows < real)
    there = rows < real
    assert torch.equal(edges.entries.pattern.col[back][there], rows[there])


@pytest.mark.parametrize("loops", [0, 2])
def test_of_edges_in_any_order(loops: int) -> None:
    batch = random_batch([5, 0, 4, 1], 1)
    index = torch.cat([batch.edge_index, torch.full((2, loops), 3)], dim=1)
    torch.manual_seed(0)
    assert_leads_back(Edges(index[:, torch.randperm(index.shape[1])], 10))


def test_of_no_edges() -> None:
    for n in (0, 3):
        assert way_back(Edges(torch.zeros(2, 0, dtype=torch.int64), n)).shape == (0,)


def test_an_edge_without_its_reverse_raises() -> None:
    both, one = torch.tensor([[0, 1], [1, 0]]), torch.tensor([[1], [2]])
    twice = torch.tensor([[0, 1, 0], [1, 0, 1]])
    for index in (torch.cat([both, one], 1), twice):
        with pytest.raises(UserError, match="both directions, and edge_index has edges that go"):
            way_back(Edges(index, 3))


def test_a_set_with_an_edge_without_its_reverse_raises() -> None:
    graphs = packed_molecules([Molecule([(0, 0)] * 3, [(0, 1, 0), (1, 2, 0)])])
    assert len(way_back(BatchEdges(graphs.batch([0])))) == 4
    # Atom 2 hears atom 0, which does not hear it.
    directed = replace(graphs, col=torch.tensor([1, 0, 2, 0], dtype=torch.uint8))
    with pytest.raises(UserError, match=r"this set has edges .* add the reverse of each edge"):
        way_back(BatchEdges(directed.batch([0])))


def test_a_batch_of_fixed_shape_that_does_not_hold_it_says_who_declares_it() -> None:
    batches, ids = FixedBatches(classes(), plain=True, attr=False), torch.tensor([[0, 1]])
    fixed = first_replica(batches.make(ids, batches.bounds(ids)))
    with pytest.raises(NotDeclared, match=r"holds no back: .* attribute `reads`"):
        way_back(BatchEdges(fixed))
