"""What a pooling returns, in PyG's form."""

from __future__ import annotations

import torch

from gmpool.graph.coarse_edges import CoarseEdges
from gmpool.graph.edges import Edges
from gmpool.ops.segment import Segments
from gmpool.pool.pooled import Pooled


def test_graph_vectors_have_no_coarse_graph() -> None:
    pooled = Pooled(torch.zeros(2, 3))
    assert (pooled.edge_index, pooled.edge_weight, pooled.batch) == (None, None, None)
    assert pooled.losses == {}
    assert pooled.losses is not Pooled(torch.zeros(2, 3)).losses


def test_a_coarse_graph_in_the_form_of_pyg() -> None:
    edge_index, weight = torch.tensor([[0, 1], [1, 0]]), torch.tensor([0.5, 2.0])
    edges = Edges(edge_index, 3, edge_weight=weight)
    segments = Segments.from_batch(torch.tensor([0, 0, 1]), 3, None, 2)
    pooled = Pooled(torch.zeros(3, 4), edges=edges, segments=segments)
    assert torch.equal(pooled.edge_index, edge_index)
    assert torch.equal(pooled.edge_weight, weight)
    assert pooled.batch.tolist() == [0, 0, 1]


def test_dense_coarse_graphs_have_all_pairs() -> None:
    blocks = torch.arange(8.0).view(2, 2, 2)  # entry (k, l) is the weight of l -> k
    pooled = Pooled(
        torch.zeros(2, 2, 4), edges=CoarseEdges(blocks), segments=Segments.uniform(2, 2)
    )
    source, target = pooled.edge_index.tolist()
    assert list(zip(source, target, pooled.edge_weight.tolist(), strict=True)) == [
        (0, 0, 0), (1, 0, 1), (0, 1, 2), (1, 1, 3), (2, 2, 4), (3, 2, 5), (2, 3, 6), (3, 3, 7)
    ]  # fmt: skip
    assert pooled.batch.tolist() == [0, 0, 1, 1]
