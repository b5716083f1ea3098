"""Message passing whose layers are all kept."""

from __future__ import annotations

import pytest
import torch
from graphs import Batch, random_batch

from gmpool.data import from_smiles
from gmpool.errors import UserError
from gmpool.graph.batch_edges import BatchEdges
from gmpool.graph.edges import Edges
from gmpool.nn.batch_norm import BatchNorm
from gmpool.nn.encoder import Encoder, MoleculeEncoder


def edges_of(batch: Batch) -> Edges:
    return Edges(batch.edge_index, len(batch.x), edge_weight=batch.weight, dtype=torch.float64)


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


def test_norms_stand_after_each_convolution() -> None:
    """Before its ReLU, and what is propagated is what comes after that."""
    torch.manual_seed(0)
    batch = random_batch([5, 1, 4], 3)
    encoder, edges = Encoder(3, 8, batch_norm="after").double(), edges_of(batch)
    x, expected = batch.x, []
    for conv in encoder.convs:
        x = torch.relu(torch.nn.BatchNorm1d(8).double()(conv(x, edges)))
        expected.append(x)
    columns = encoder(batch.x, edges)
    torch.testing.assert_close(columns.x, torch.cat(expected, dim=1))
    torch.testing.assert_close(columns.gcn_known[0], edges.gcn.matmul(expected[0]))


def test_norms_of_molecules_stand_where_they_are_asked_for() -> None:
    graphs = from_smiles(["CCO", "c1ccccc1N", "C"])
    for place, conv, count in (("after", "gcn", 3), ("inside", "gin", 3), ("both", "gin", 6)):
        sizes = graphs.cat_sizes, graphs.edge_cat_sizes
        encoder = MoleculeEncoder(*sizes, 16, conv=conv, batch_norm=place)
        norms = [part for part in encoder.modules() if isinstance(part, BatchNorm)]
        assert len(norms) == count
        batch = graphs.batch([0, 1, 2])
        assert encoder(batch.x, BatchEdges(batch)).x.isfinite().all()
        assert all(norm.running_mean.any() for norm in norms)


def test_without_norms_the_first_weights_are_the_same() -> None:
    made = []
    for place in (None, "after"):
        torch.manual_seed(0)
        made.append(dict(Encoder(3, 8, conv="gin", batch_norm=place).named_parameters()))
    without, with_norms = made
    assert all(torch.equal(weight, with_norms[name]) for name, weight in without.items())
