"""Batches of fixed shape hold what ragged ones hold, and made-up nodes and entries behind it."""

from __future__ import annotations

import pytest
import torch
from dense_sets import dense_set
from random_graphs import dense
from small_sets import classes, ring_molecule, with_labels

from gmpool.data import GraphBatch, PackedGraphs, from_pyg, from_smiles
from gmpool.data.fixed_batch import Bounds, FixedBatch, FixedBatches

SMILES = ["c1ccccc1C(=O)O", "C", "CC#N", "C/C=C/C", "[Na+].[Cl-]", "NCC(=O)CCl"]


def rings() -> PackedGraphs:
    torch.manual_seed(0)
    return from_pyg([ring_molecule(n) for n in (3, 6, 1, 4, 7, 5)])


def one_of(made: FixedBatch, r: int) -> FixedBatch:
    return made.with_({name: tensor[r] for name, tensor in made.tensors().items()})


@pytest.mark.parametrize("slack", [0, 7])
@pytest.mark.parametrize("graphs", [classes(6), rings()], ids=["features", "bonds"])
def test_fixed_batches_hold_the_ragged_ones(graphs: PackedGraphs, slack: int) -> None:
    batches = FixedBatches(graphs, plain=True)
    none = batches.empty
    ids = torch.tensor([[2, 0, 5], [4, none, none]])
    made = batches.make(ids, Bounds(*(n + slack for n in batches.bounds(ids))))
    for r, there in enumerate(([2, 0, 5], [4])):
        one, ragged = one_of(made, r), graphs.batch(there)
        N, E = ragged.num_nodes, ragged.edge_ids.numel()
        assert one.num_nodes > N, "at least one node is made up"
        assert torch.equal(one.x[:N], ragged.x)
        assert not one.x[N:].any()
        assert torch.equal(one.batch[:N], ragged.batch)
        assert one.batch[N:].eq(3).all(), "made-up nodes are of a graph of their own"
        assert torch.equal(one.y[: len(there)], ragged.y)
        assert one.real.tolist() == [float(i < len(there)) for i in range(4)]
        for name in ("graph", "gcn"):
            got, want = getattr(one, name), getattr(ragged, name)
            whole = dense(got.rowptr, got.col, got.weight)
            assert torch.equal(whole[:N, :N], dense(want.rowptr, want.col, want.weight)), name
            assert not whole[:N, N:].any()
            assert not whole[N:, :N].any()
        if ragged.edge_attr is not None:
            assert torch.equal(one.edge_attr[:E], ragged.edge_attr)
            assert torch.equal(one.edge_index[:, :E], ragged.edge_index)
            assert torch.equal(one.graph.t_perm[:E], ragged.graph.t_perm.long())


def test_labels_of_graphs_that_are_not_there_are_missing() -> None:
    for graphs, is_missing in (
        (classes(3), lambda y: y == -100),
        (with_labels(torch.ones(3, 2), "regression"), torch.isnan),
    ):
        batches = FixedBatches(graphs, plain=False)
        ids = torch.tensor([[1, batches.empty]])
        made = batches.make(ids, batches.bounds(ids))
        assert made.graph is None
        assert not is_missing(made.y[0, 0]).any()
        assert is_missing(made.y[0, 1]).all()


def test_fixed_batches_have_the_codes_of_ragged_ones() -> None:
    pytest.importorskip("rdkit")
    graphs = from_smiles(SMILES)
    batches = FixedBatches(graphs, plain=True, codes=True)
    none = batches.empty
    ids = torch.tensor([[2, 0, 5], [4, none, none]])
    made = batches.make(ids, Bounds(*(n + 5 for n in batches.bounds(ids))))
    count = len(batches.kinds.rows)
    for r, there in enumerate(([2, 0, 5], [4])):
        one, ragged = one_of(made, r), graphs.batch(there)
        assert torch.equal(one.bond_kinds, ragged.bond_kinds)
        for name in ("graph_code", "gcn_code"):
            found, expected = getattr(one, name), getattr(ragged, name)
            assert torch.equal(found[: len(expected)], expected)
            assert found[len(expected) :].le(count).all()
    assert FixedBatches(graphs, plain=True).make(ids, batches.bounds(ids)).bond_kinds is None


def test_bits_take_the_place_of_the_matrices() -> None:
    graphs = dense_set([40, 50, 33])
    batches = FixedBatches(graphs, plain=True, dense=True)
    ids = torch.tensor([[0, 2]])
    made = batches.make(ids, batches.bounds(ids))
    assert made.bits is graphs.adjacency_bits
    assert (made.graph, made.gcn, made.edge_index) == (None, None, None)
    assert torch.equal(made.x[0, :73], GraphBatch(graphs, [0, 2]).x)
