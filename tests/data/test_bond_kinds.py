"""Kinds of bonds: what a batch says by codes is what it says by features."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch_geometric.data import Data

from gmpool.data import PackedGraphs, from_pyg, from_smiles
from gmpool.data.bond_kinds import MOST

SMILES = ["c1ccccc1C(=O)O", "C", "CC#N", "C/C=C/C", "[Na+].[Cl-]", "NCC(=O)CCl"]


def molecules() -> PackedGraphs:
    pytest.importorskip("rdkit")
    return from_smiles(SMILES)


def edges_of(kinds: list[list[int]], edges: list[list[int]]) -> PackedGraphs:
    """One graph of three nodes, with categorical features of its edges."""
    x, index = torch.zeros(3, 1), torch.tensor(edges).t()
    return from_pyg([Data(x=x, edge_index=index, edge_attr=torch.tensor(kinds))])


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


def test_a_moved_set_and_a_part_of_it_know_their_kinds() -> None:
    graphs = molecules()
    assert torch.equal(graphs.to("cpu").bond_kinds.gcn, graphs.bond_kinds.gcn)
    part = graphs.select([2])
    assert len(part.bond_kinds.rows) == 2
    assert len(graphs.bond_kinds.rows) > 2


def test_edges_that_are_no_bonds() -> None:
    both = [[0, 1], [1, 0], [1, 2], [2, 1]]
    graphs = edges_of([[0], [0], [1], [1]], both)
    assert len(graphs.bond_kinds.rows) == 2
    assert edges_of([[0], [1], [1], [1]], both).bond_kinds is None  # another kind on the way back
    assert edges_of([[0], [0], [1]], both[:3]).bond_kinds is None  # one way
    assert edges_of([[0]] * 5, [*both, [1, 1]]).bond_kinds is None  # a loop
    assert replace(graphs, edge_weight=torch.ones(4)).bond_kinds is None
    assert replace(graphs, edge_float=torch.ones(4, 1)).bond_kinds is None
    assert replace(graphs, edge_cat=None, edge_cat_sizes=()).bond_kinds is None


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
    kinds = from_pyg([path]).bond_kinds
    assert (kinds is not None) == known
    if known:
        assert len(kinds.rows) == count
