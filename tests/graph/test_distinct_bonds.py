"""Which states are distinct, against trees of tuples, and what an encoder makes of them."""

from __future__ import annotations

import gc
import sys
import tracemalloc
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch
from bond_trees import Trees
from hypothesis import given
from hypothesis import strategies as st
from molecule_sets import (
    ATOM_SIZES,
    BOND_SIZES,
    Molecule,
    chain,
    molecule_lists,
    packed_molecules,
)
from torch import Tensor

from gmpool.data import GraphBatch, PackedGraphs
from gmpool.data.epoch_batches import epoch_batches
from gmpool.data.fixed_batch import FixedBatches
from gmpool.graph.batch_edges import BatchEdges
from gmpool.graph.distinct_bonds import BatchBonds, DistinctBonds, distinct_bonds
from gmpool.graph.edges import Edges
from gmpool.nn.directed import DirectedEncoder

LAYERS = st.integers(1, 4)


def sizes_of(found: BatchBonds) -> list[int]:
    return [len(found.codes), *(len(heard.rowptr) - 1 for heard in found.heard)]


@given(molecules=molecule_lists(), layers=LAYERS)
def test_states_of_a_set_are_as_many_as_trees(molecules: list[Molecule], layers: int) -> None:
    graphs, trees = packed_molecules(molecules), Trees(molecules, layers)
    if graphs.bond_kinds is None:
        assert graphs.num_edges == 0
        return
    states = DistinctBonds(graphs, layers)
    found = [len(states.begins), *(len(level.own) for level in states.levels)]
    assert found == [len(level) for level in trees.levels]
    assert len(states.ends.own) == len(trees.nodes)
    assert len(states.kind) == graphs.num_nodes


@given(molecules=molecule_lists(), layers=LAYERS, data=st.data())
def test_a_batch_has_those_that_its_nodes_need(
    molecules: list[Molecule], layers: int, data: st.DataObject
) -> None:
    graphs = packed_molecules(molecules)
    if graphs.bond_kinds is None:
        return
    ids = data.draw(st.lists(st.integers(0, len(molecules) - 1), max_size=6))
    found = DistinctBonds(graphs, layers).of(graphs.batch(ids))
    chosen = [molecules[i] for i in ids]
    trees = Trees(chosen, layers)
    assert sizes_of(found) == trees.needed()
    assert len(found.of_atom) == len(trees.nodes)
    assert len(found.atoms) == len({atom for one in chosen for atom in one.atoms})
    for pattern in (*found.heard, found.ends, found.nodes):
        columns = len(pattern.t_rowptr) - 1
        dense = torch.zeros(len(pattern.rowptr) - 1, columns)
        dense.index_put_((pattern.rows, pattern.col), torch.ones(()), accumulate=True)
        back = torch.zeros_like(dense)
        transposed = pattern.transposed
        back.index_put_((transposed.col, transposed.rows), torch.ones(()), accumulate=True)
        assert torch.equal(dense, back)


def encoder_of(layers: int, seed: int = 0) -> DirectedEncoder:
    torch.manual_seed(seed)
    return DirectedEncoder(ATOM_SIZES, BOND_SIZES, 5, num_layers=layers, state_dim=4).double()


def in_doubles(batch: GraphBatch) -> GraphBatch:
    batch.x = batch.x.double()
    return batch


def assert_one_as_each(encoder: DirectedEncoder, batch: GraphBatch) -> None:
    """Values and gradients of all weights, where each state is made once and where each bond has
    one."""
    x, edges, inputs = batch.x, BatchEdges(batch), list(encoder.parameters())
    states = distinct_bonds(x, edges, encoder.num_layers)
    assert states is not None
    outs = encoder._once(x, states), encoder._each(x, edges)
    assert torch.equal(encoder(x, edges), outs[0])
    torch.testing.assert_close(*outs, atol=1e-12, rtol=1e-12)
    probe = torch.randn_like(outs[0])
    for a, b in zip(
        *(torch.autograd.grad(out, inputs, probe, allow_unused=True) for out in outs), strict=True
    ):
        assert (a is None) == (b is None)
        if a is not None:
            torch.testing.assert_close(a, b, atol=1e-11, rtol=1e-11)
    with torch.no_grad():
        torch.testing.assert_close(encoder(x, edges), outs[1], atol=1e-12, rtol=1e-12)


@given(molecules=molecule_lists(), layers=LAYERS, data=st.data())
def test_each_once_is_each_for_itself(
    molecules: list[Molecule], layers: int, data: st.DataObject
) -> None:
    graphs = packed_molecules(molecules)
    ids = data.draw(st.lists(st.integers(0, len(molecules) - 1), max_size=6))
    batch, encoder = in_doubles(graphs.batch(ids)), encoder_of(layers)
    if graphs.bond_kinds is not None:
        assert_one_as_each(encoder, batch)
    else:
        batch.edge_attr = torch.zeros(0, sum(BOND_SIZES)).double()
        assert distinct_bonds(batch.x, BatchEdges(batch), layers) is None
        assert encoder(batch.x, BatchEdges(batch)).shape == (batch.num_nodes, 5)


@given(molecules=molecule_lists(), layers=LAYERS, size=st.integers(1, 3), seed=st.integers(0, 99))
def test_batches_of_an_epoch(molecules: list[Molecule], layers: int, size: int, seed: int) -> None:
    """Which are assembled several at a time."""
    graphs, encoder = packed_molecules(molecules), encoder_of(layers)
    if graphs.bond_kinds is None:
        return
    shuffle = torch.Generator().manual_seed(seed)
    batches = list(epoch_batches(graphs, torch.arange(graphs.num_graphs), size, shuffle))
    assert sum(batch.num_graphs for batch in batches) == graphs.num_graphs
    for batch in batches:
        assert_one_as_each(encoder, in_doubles(batch))


def test_one_molecule_many_times() -> None:
    ring = Molecule([(0, 0)] * 6, [(i, (i + 1) % 6, 0) for i in range(6)])
    graphs = packed_molecules([ring, chain(5, torch.tensor([0, 1, 0, 0]))])
    for layers in range(1, 5):
        states = DistinctBonds(graphs, layers)
        assert sizes_of(states.of(graphs.batch([0] * 50))) == [1] * layers
        assert sizes_of(states.of(graphs.batch([1] * 50))) == sizes_of(states.of(graphs.batch([1])))
        assert_one_as_each(encoder_of(layers), in_doubles(graphs.batch([1, 0, 0, 1, 0])))


def test_atoms_alone() -> None:
    """In a batch, and beside molecules."""
    alone = Molecule([(1, 0)], [])
    graphs = packed_molecules([alone, chain(3, torch.tensor([0, 1])), Molecule([], [])])
    for ids in ([0], [0, 0], [2], [], [0, 1, 0], [1, 2]):
        for layers in range(1, 5):
            assert_one_as_each(encoder_of(layers), in_doubles(graphs.batch(ids)))


@pytest.fixture
def small() -> PackedGraphs:
    return packed_molecules([chain(3, torch.tensor([0, 1])), chain(4, torch.tensor([0, 1, 0]))])


def test_nodes_that_somebody_changed_are_like_no_other(small: PackedGraphs) -> None:
    """Their features, or that their gradient is asked for: then each bond has its own state."""
    batch, encoder = in_doubles(small.batch([0, 1, 1])), encoder_of(3)
    edges = BatchEdges(batch)
    x = batch.x.clone()
    assert distinct_bonds(x, edges, 3) is None
    torch.testing.assert_close(encoder(x, edges), encoder(batch.x, edges))
    x[3] = x[3].flip(0)  # one of two molecules that are equal
    out = encoder(x, edges)
    torch.testing.assert_close(out, encoder._each(x, edges))
    assert not torch.allclose(out[3:7], out[7:11])
    batch.x.requires_grad_()
    (grad,) = torch.autograd.grad(encoder(batch.x, edges).sum(), batch.x)
    torch.testing.assert_close(grad[3:7], grad[7:11])
    assert grad.abs().sum(1).all()


def test_of_edges_whose_kinds_are_not_known_there_is_nothing(small: PackedGraphs) -> None:
    batches, ids = FixedBatches(small, plain=True), torch.tensor([[0, 1]])
    fixed = batches.make(ids, batches.bounds(ids))
    batch = small.batch([0, 1])
    numbers = replace(small, edge_float=torch.rand(small.num_edges, 1)).batch([0])
    for edges, x in (
        (BatchEdges(fixed.with_({k: t[0] for k, t in fixed.tensors().items()})), fixed.x[0]),
        (Edges(batch.edge_index, batch.num_nodes, edge_attr=batch.edge_attr), batch.x),
        (BatchEdges(numbers), numbers.x),
    ):
        assert distinct_bonds(x, edges, 3) is None
    assert distinct_bonds(batch.x, BatchEdges(batch), 3) is not None


def test_a_set_is_refined_once_for_each_depth(
    small: PackedGraphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, begin = [], DistinctBonds.__init__

    def counted(self: DistinctBonds, graphs: PackedGraphs, layers: int) -> None:
        made.append(layers)
        begin(self, graphs, layers)

    monkeypatch.setattr(DistinctBonds, "__init__", counted)
    for layers in (3, 2, 3, 2):
        batch = small.batch([0])
        assert distinct_bonds(batch.x, BatchEdges(batch), layers) is not None
    assert made == [3, 2]


def test_no_set_is_kept_alive() -> None:
    graphs = packed_molecules([chain(3, torch.tensor([0, 1]))])
    batch = graphs.batch([0])
    assert distinct_bonds(batch.x, BatchEdges(batch), 3) is not None
    gone = weakref.ref(graphs)
    del graphs, batch
    gc.collect()
    assert gone() is None


def many(count: int) -> PackedGraphs:
    """Molecules of which no two are equal."""
    digits = torch.arange(count)[:, None] // 2 ** torch.arange(14) % 2
    return packed_molecules([chain(15, kinds) for kinds in digits])


def test_a_batch_of_a_large_set_takes_no_more_memory_than_one_of_a_small_set() -> None:
    peaks = []
    for count in (40, 4000):
        graphs = many(count)
        states, batch = DistinctBonds(graphs, 12), graphs.batch(range(20))
        states.of(batch)
        tracemalloc.start()
        states.of(batch)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert len(states.ends.own) > 10_000
    assert peaks[1] < 1.2 * peaks[0] < 8 * len(states.ends.own)


@pytest.fixture
def impatient() -> Iterator[None]:
    """Threads take turns after every few instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_threads_may_share_a_set(impatient: None) -> None:
    graphs = many(1000)
    states = DistinctBonds(graphs, 6)
    # So large that NumPy lets others go on while it looks things up.
    parts = torch.randperm(1000, generator=torch.Generator().manual_seed(0)).split(100)
    alone = [_tensors(states.of(graphs.batch(ids))) for ids in parts]

    def again(number: int) -> bool:
        found = _tensors(states.of(graphs.batch(parts[number % 10])))
        return all(torch.equal(a, b) for a, b in zip(found, alone[number % 10], strict=True))

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(again, range(2000)))


def _tensors(found: BatchBonds) -> list[Tensor]:
    patterns = (*found.heard, found.ends, found.nodes)
    parts = [t for p in patterns for t in (p.rowptr, p.col, p.t_rowptr, p.t_col)]
    return [found.atoms, found.begins, found.codes, found.of_atom, *parts]
