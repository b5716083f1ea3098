"""Edges of which the matrix is known: rows of features follow its entries."""

from __future__ import annotations

import torch
from every_edges import from_edge_index

from gmpool.graph.derived_edges import DerivedEdges


def test_entries_are_the_edges() -> None:
    loose = from_edge_index(weighted=True).edges
    attr = torch.arange(loose.edge_index.shape[1])[:, None]
    edges = DerivedEdges(loose.entries, dtype=loose.dtype, edge_attr=attr[loose.order])
    assert edges.plain is edges.entries is loose.entries
    assert edges.num_nodes == loose.num_nodes
    assert torch.equal(edges.edge_index, loose.edge_index[:, edges.edge_attr[:, 0]])
    assert torch.equal(edges.edge_weight, loose.edge_weight[edges.edge_attr[:, 0]])


def test_scaling_is_what_the_weights_of_a_list_are() -> None:
    for weighted in (False, True):
        loose = from_edge_index(weighted=weighted).edges
        x = torch.randn(10, 3, dtype=torch.float64)
        scaled = DerivedEdges(loose.entries, dtype=loose.dtype).gcn
        torch.testing.assert_close(scaled.matmul(x), loose.gcn.matmul(x))
