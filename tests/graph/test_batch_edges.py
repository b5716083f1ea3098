"""Batches of packed sets: kinds of bonds, what a batch of fixed shape does not hold, segments."""

from __future__ import annotations

import pytest
import torch
from every_edges import EVERY, first_replica
from small_sets import classes, ring_molecule

from gmpool.data import GraphBatch, PackedGraphs, from_pyg
from gmpool.data.fixed_batch import FixedBatch, FixedBatches
from gmpool.graph.batch_edges import BatchEdges, NotDeclared, batch_segments


def molecules() -> PackedGraphs:
    torch.manual_seed(0)
    return from_pyg([ring_molecule(n) for n in (5, 1, 4)])


def fixed(graphs: PackedGraphs, **held: bool) -> FixedBatch:
    batches, ids = FixedBatches(graphs, **held), torch.tensor([[2, 0]])
    return first_replica(batches.make(ids, batches.bounds(ids)))


def test_bonds_are_rows_of_features() -> None:
    edges = BatchEdges(GraphBatch(molecules(), [2, 0, 1]))
    bonds, gcn_bonds = edges.bonds, edges.gcn_bonds
    assert torch.equal(bonds.kinds[bonds.code.long()], edges.edge_attr)
    assert bonds.matrix is edges.entries
    assert gcn_bonds.matrix is edges.gcn
    p = gcn_bonds.matrix.pattern
    is_loop = p.rows == p.col
    assert torch.equal(gcn_bonds.code == len(bonds.kinds), is_loop)
    assert torch.equal(gcn_bonds.code[~is_loop], bonds.code)


def test_without_kinds_there_are_no_bonds() -> None:
    edges = BatchEdges(GraphBatch(classes(), [0, 1]))
    assert edges.bonds is None
    assert edges.gcn_bonds is None


def test_a_batch_of_fixed_shape_says_what_it_does_not_hold() -> None:
    products = BatchEdges(fixed(classes(), plain=False))
    assert products.gcn.matmul(torch.ones(products.num_nodes, 1)).sum() > 0
    with pytest.raises(NotDeclared, match="holds no entries: whoever asks for it says so"):
        _ = products.plain
    loops = BatchEdges(fixed(molecules(), plain=False, attr=False, codes=True))
    assert loops.gcn_bonds is not None
    with pytest.raises(NotDeclared, match="entries"):
        _ = loops.bonds


def test_bits_do_not_pretend_to_list_entries() -> None:
    edges = EVERY["fixed batch of bits"]().edges
    for name in ("entries", "edge_index"):
        with pytest.raises(NotDeclared):
            getattr(edges, name)
    assert edges.edge_attr is None
    assert edges.bonds is None


def test_segments_of_a_batch() -> None:
    graphs = molecules()
    segments = batch_segments(GraphBatch(graphs, [2, 0, 1]))
    assert segments.batch.tolist() == [0] * 4 + [1] * 5 + [2]
    assert segments.counts.tolist() == [4, 5, 1]
    assert segments.real is None
    with_made_up = batch_segments(fixed(graphs, plain=True))
    assert with_made_up.counts.tolist() == [4, 5, 1]
    assert with_made_up.real.tolist() == [1.0, 1.0, 0.0]
