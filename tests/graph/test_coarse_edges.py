"""Dense coarse graphs: their loops, and what a pooling after the first makes of them."""

from __future__ import annotations

import torch
from every_edges import coarse, from_edge_index

from gmpool.graph.coarse_edges import CoarseEdges
from gmpool.graph.induced import induced
from gmpool.ops.selection import best_of_each


def test_every_node_gains_a_loop() -> None:
    """Also one that has a weight of its own, which is the edges inside its cluster."""
    edges = CoarseEdges(torch.tensor([[[3.0, 0.0], [0.0, 0.0]]]))
    assert torch.equal(edges.gcn.blocks, torch.eye(2)[None])
    edges = CoarseEdges(torch.tensor([[[0.0, 3.0], [3.0, 0.0]]]))
    torch.testing.assert_close(edges.gcn.blocks, torch.tensor([[[0.25, 0.75], [0.75, 0.25]]]))


def test_coarse_twice_is_coarse_by_both_assignments() -> None:
    torch.manual_seed(0)
    case = from_edge_index(weighted=True)
    first = torch.randn(10, 3, dtype=torch.float64).softmax(1)
    second = torch.randn(4 * 3, 2, dtype=torch.float64).softmax(1)
    segments = case.segments
    twice = case.edges.coarsened(first, segments).coarsened(second, segments.with_rows(3))
    of_node = second.view(4, 3, 2)[segments.batch]  # [N, 3, 2]
    both = (first[:, None] @ of_node)[:, 0]
    torch.testing.assert_close(twice.blocks, case.edges.coarsened(both, segments).blocks)


def test_some_of_their_nodes_can_be_kept() -> None:
    case = coarse()
    kept, left = best_of_each(torch.randn(12), case.segments, 0.5)
    part = induced(case.edges, kept, left)
    eye = torch.eye(len(kept), dtype=torch.float64)
    torch.testing.assert_close(part.plain.matmul(eye), case.a[kept][:, kept])
