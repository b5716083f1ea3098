"""Message passing whose layers are all kept."""

from __future__ import annotations

import pytest
import torch
from graphs import Batch, random_batch

from gmpool.data import from_smiles
from gmpool.errors import UserError
from gmpool.graph.batch_edges import BatchEdges
from gmpool.graph.edges import Edges
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
