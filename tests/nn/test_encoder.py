"""Message passing against PyG's layers and against the formulas."""

from __future__ import annotations

import pytest
import torch
from graphs import random_batch
from torch_geometric.nn import GCNConv as PyGGCNConv
from torch_geometric.nn import GINConv as PyGGINConv

from gmpool.data import from_smiles
from gmpool.errors import UserError
from gmpool.graph.batch_edges import BatchEdges
from gmpool.graph.edges import Edges
from gmpool.nn.conv import GCNConv, GINConv, make_conv
from gmpool.nn.encoder import Encoder, MoleculeEncoder
from gmpool.nn.molecule import BondConv


def edges_of(batch: object, dtype: torch.dtype = torch.float64) -> Edges:
    return Edges(batch.edge_index, len(batch.x), edge_weight=batch.weight, dtype=dtype)


@pytest.mark.parametrize(("in_dim", "out_dim"), [(3, 7), (7, 3)], ids=["widening", "narrowing"])
@pytest.mark.parametrize("loops", [False, True])
def test_gcn_equals_pyg(in_dim: int, out_dim: int, loops: bool) -> None:
    batch = random_batch([5, 1, 0, 4], in_dim, weighted=True, directed=True)
    if loops:
        own = torch.tensor([[0, 6], [0, 6]])
        batch.edge_index = torch.cat([batch.edge_index, own], dim=1)
        batch.weight = torch.cat([batch.weight, torch.tensor([2.0, 3.0], dtype=torch.float64)])
    ours, pyg = GCNConv(in_dim, out_dim).double(), PyGGCNConv(in_dim, out_dim).double()
    pyg.load_state_dict({"lin.weight": ours.weight.detach(), "bias": ours.bias.detach()})
    expected = pyg(batch.x, batch.edge_index, batch.weight)
    torch.testing.assert_close(ours(batch.x, edges_of(batch)), expected)


def test_gin_equals_pyg() -> None:
    batch = random_batch([5, 1, 0, 4], 3)
    ours = GINConv(3, 6).double()
    expected = PyGGINConv(ours.mlp)(batch.x, batch.edge_index)
    torch.testing.assert_close(ours(batch.x, edges_of(batch)), expected)


def test_propagated_columns_are_those_of_the_concatenation() -> None:
    torch.manual_seed(0)
    batch = random_batch([5, 1, 4], 3)
    encoder, edges = Encoder(3, 8).double(), edges_of(batch)
    columns = encoder(batch.x, edges)
    assert columns.shape == (10, 24)
    assert len(columns.gcn_known) == 2
    together = torch.cat(columns.gcn(edges), dim=1)
    torch.testing.assert_close(together, edges.gcn.matmul(columns.x))


def test_no_layers_is_a_linear_map_of_each_row() -> None:
    batch = random_batch([5], 3)
    encoder = Encoder(3, 8, num_layers=0).double()
    assert encoder.out_dim == 8
    assert encoder.rows is not None
    assert torch.equal(encoder(batch.x, edges_of(batch)).x, encoder.rows(batch.x))
    with pytest.raises(UserError, match="num_layers must be 0 or more, got -1"):
        Encoder(3, 8, num_layers=-1)


def test_bond_convolution_is_the_formula() -> None:
    torch.manual_seed(0)
    batch = random_batch([4, 1, 3], 5)
    kind = torch.randint(0, 3, (batch.edge_index.shape[1],))
    attr = torch.nn.functional.one_hot(kind, 3).double()
    conv = BondConv((3,), 5).double()
    edges = Edges(batch.edge_index, 8, edge_attr=attr, dtype=torch.float64)
    found = conv(batch.x, edges)
    h = conv.linear(batch.x)
    degree = 1 + torch.bincount(batch.edge_index[0], minlength=8)
    expected = torch.relu(h + conv.root) / degree[:, None]
    for (j, i), bond in zip(batch.edge_index.t().tolist(), kind.tolist(), strict=True):
        message = torch.relu(h[j] + conv.bonds.weight[bond])
        expected[i] = expected[i] + message / (degree[i] * degree[j]).sqrt()
    torch.testing.assert_close(found, expected)
    with pytest.raises(UserError, match="reads bonds, and the batch has no edge_attr"):
        conv(batch.x, edges_of(batch))


def test_molecules_are_encoded_alike_from_a_set_and_from_edges() -> None:
    graphs = from_smiles(["CCO", "c1ccccc1N", "[Na+].[Cl-]", "C"])
    batch = graphs.batch([2, 0, 3, 1])
    torch.manual_seed(0)
    encoder = MoleculeEncoder(graphs.cat_sizes, graphs.edge_cat_sizes, 16)
    packed = encoder(batch.x, BatchEdges(batch)).x
    shuffle = torch.randperm(batch.edge_index.shape[1])
    loose = Edges(batch.edge_index[:, shuffle], batch.num_nodes, edge_attr=batch.edge_attr[shuffle])
    torch.testing.assert_close(packed, encoder(batch.x, loose).x)
    assert packed.shape == (batch.num_nodes, 48)


def test_unknown_convolution() -> None:
    with pytest.raises(UserError, match="unknown convolution 'gcm'; did you mean 'gcn'"):
        make_conv("gcm", 2, 2)
    with pytest.raises(UserError, match=r"must return a torch\.nn\.Module"):
        make_conv(lambda a, b: 3, 2, 2)  # type: ignore[arg-type, return-value]
