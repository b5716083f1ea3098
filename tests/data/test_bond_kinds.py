"""Kinds of bonds: what a batch says by codes is what it says by features."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch_geometric.data import Data

from gmpool.data import PackedGraphs
from gmpool.data.bond_kinds import MOST
from gmpool.data.fixed_batch import Bounds, FixedBatches

SMILES = ["c1ccccc1C(=O)O", "C", "CC#N", "C/C=C/C", "[Na+].[Cl-]", "NCC(=O)CCl"]


def molecules() -> PackedGraphs:
    pytest.importorskip("rdkit")
    return PackedGraphs.from_smiles(SMILES)


def edges_of(kinds: list[list[int]], edges: list[list[int]]) -> PackedGraphs:
    """One graph of three nodes, with categorical features of its edges."""
    x, index = torch.zeros(3, 1), torch.tensor(edges).t()
    return PackedGraphs.from_pyg([Data(x=x, edge_index=index, edge_attr=torch.tensor(kinds))])


def test_codes_name_the_rows_of_edge_attr() -> None:
    graphs = molecules()
    for ids in (range(6), [3, 0, 3], [1]):
        batch = graphs.batch(ids)
        kinds, E, N = batch.bond_kinds, batch.edge_attr.shape[0], batch.num_nodes
        assert len(kinds) == len(kinds.unique(dim=0)) == len(graphs.batch(range(6)).bond_kinds)
        assert torch.equal(kinds[batch.graph_code.long()], batch.edge_attr)
        row = torch.repeat_interleave(batch.gcn.rowptr.diff().long())
        is_loop = batch.gcn.col == row
        assert batch.gcn_code.shape == (E + N,)
        assert torch.equal(batch.gcn_code == len(kinds), is_loop)
        assert torch.equal(batch.gcn_code[~is_loop], batch.graph_code)


def test_fixed_batches_have_the_codes_of_ragged_ones() -> None:
    graphs = molecules()
    batches = FixedBatches(graphs, plain=True, codes=True)
    none = batches.empty
    ids = torch.tensor([[2, 0, 5], [4, none, none]])
    made = batches.make(ids, Bounds(*(n + 5 for n in batches.bounds(ids))))
    count = len(batches.kinds.rows)
    for r, there in enumerate(([2, 0, 5], [4])):
        one = made.with_({name: tensor[r] for name, tensor in made.tensors().items()})
        ragged = graphs.batch(there)
        assert torch.equal(one.bond_kinds, ragged.bond_kinds)
        for name in ("graph_code", "gcn_code"):
            found, expected = getattr(one, name), getattr(ragged, name)
            assert torch.equal(found[: len(expected)], expected)
            assert found[len(expected) :].le(count).all()
    assert FixedBatches(graphs, plain=True).make(ids, batches.bounds(ids)).bond_kinds is None


def test_a_moved_set_and_a_part_of_it_know_their_kinds() -> None:
    graphs = molecules()
    assert torch.equal(graphs.to("cpu")._bond_kinds.gcn, graphs._bond_kinds.gcn)
    part = graphs.select([2])
    assert len(part._bond_kinds.rows) == 2
    assert len(graphs._bond_kinds.rows) > 2


def test_edges_that_are_no_bonds() -> None:
    both = [[0, 1], [1, 0], [1, 2], [2, 1]]
    graphs = edges_of([[0], [0], [1], [1]], both)
    assert len(graphs._bond_kinds.rows) == 2
    assert edges_of([[0], [1], [1], [1]], both)._bond_kinds is None  # another kind on the way back
    assert edges_of([[0], [0], [1]], both[:3])._bond_kinds is None  # one way
    assert edges_of([[0]] * 5, [*both, [1, 1]])._bond_kinds is None  # a loop
    assert replace(graphs, edge_weight=torch.ones(4))._bond_kinds is None
    assert replace(graphs, edge_float=torch.ones(4, 1))._bond_kinds is None
    assert replace(graphs, edge_cat=None, edge_cat_sizes=())._bond_kinds is None


@pytest.mark.parametrize(("count", "known"), [(MOST, True), (MOST + 1, False)])
def test_too_many_kinds(count: int, known: bool) -> None:
    """A path whose edges are all of different kinds, in two columns."""
    node, kind = torch.arange(count), torch.arange(count)
    edge = torch.stack([node, node + 1])
    two = torch.stack([kind // 8, kind % 8], 1)
    path = Data(
        x=torch.zeros(count + 1, 1),
        edge_index=torch.cat([edge, edge.flip(0)], 1),
        edge_attr=torch.cat([two, two]),
    )
    kinds = PackedGraphs.from_pyg([path])._bond_kinds
    assert (kinds is not None) == known
    if known:
        assert len(kinds.rows) == count
