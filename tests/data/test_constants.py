from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from dense_sets import SIZES, dense_set
from hypothesis import given
from random_graphs import packed_sets
from torch_geometric.data import Data

from gmpool.data import PackedGraphs, from_pyg, from_smiles
from gmpool.data.constants import MOST, WORD, is_dense
from gmpool.data.pack import pack


def test_wide_sets_are_not_kept_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    data = [Data(x=torch.randn(3, 2), edge_index=torch.tensor([[0, 1], [1, 2]]))]
    small = from_pyg(data).with_degree_features()
    want = small.batch([0, 0]).x
    monkeypatch.setattr("gmpool.data.constants.DENSE_LIMIT", 0)
    wide = from_pyg(data).with_degree_features()
    assert torch.equal(wide.batch([0, 0]).x, want)
    assert wide.dense_x is None
    assert torch.equal(wide.node_features(), small.dense_x)


@given(packed_sets())
def test_constants_are_made_once_and_anew_for_a_part(graphs: PackedGraphs) -> None:
    for name in ("rows", "reversed_rows", "gcn_rows", "gcn_reversed_rows", "dense_x"):
        assert getattr(graphs, name) is getattr(graphs, name)
        assert getattr(graphs.select([0]), name) is not getattr(graphs, name)
    assert torch.equal(graphs.node_features(), graphs.batch(range(len(graphs))).x)


def test_a_moved_set_keeps_what_does_not_depend_on_the_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graphs = from_pyg([Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]))])
    known = graphs.digest, graphs.symmetric
    monkeypatch.setattr("gmpool.data.constants.is_symmetric", None)
    monkeypatch.setattr("hashlib.sha256", None)
    moved = graphs.to("cpu")
    assert (moved.digest, moved.symmetric) == known
    assert type(moved) is PackedGraphs


def test_bits_are_the_adjacency() -> None:
    graphs = dense_set()
    bits = graphs.adjacency_bits
    assert bits is not None
    assert bits.word_ptr.tolist()[-1] == len(bits.words)
    for g, n in enumerate(SIZES):
        words = bits.words[bits.word_ptr[g] : bits.word_ptr[g + 1]].view(-1, n)  # [⌈n/32⌉, n]
        found = (
            (words[:, None] >> torch.arange(WORD)[None, :, None] & 1).flatten(0, 1).T
        )  # [n, 32w]
        source, target = graphs.batch([g]).edge_index
        want = torch.zeros(n, found.shape[1], dtype=torch.int32)
        want[target, source] = 1
        assert torch.equal(found, want)
    degree = graphs.row_ptr.diff()
    torch.testing.assert_close(bits.scale, (degree + 1.0) ** -0.5)
    assert bits.node_ptr.tolist() == [*graphs.node_ptr.tolist(), graphs.num_nodes]


def test_where_there_are_bits() -> None:
    plain, ends = dense_set([40, 50]), torch.tensor([0, 1])
    assert plain.adjacency_bits is not None
    weights = torch.ones(plain.num_edges)
    assert replace(plain, edge_weight=weights).adjacency_bits is None
    assert replace(plain, edge_float=weights[:, None]).adjacency_bits is None
    for source, target in (
        (ends[:1], ends[1:]),  # one way alone
        (torch.tensor([0, 1, 0]), torch.tensor([1, 0, 0])),  # a self-loop
        (torch.tensor([0, 1, 0, 1]), torch.tensor([1, 0, 1, 0])),  # edges twice
    ):
        other = pack(name="other", sizes=torch.tensor([2]), source=source, target=target)
        assert other.adjacency_bits is None
    assert is_dense(plain)
    assert not is_dense(dense_set([20, 25])), "too small"
    assert not is_dense(dense_set([40, 50], density=0.1)), "too few edges"


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
