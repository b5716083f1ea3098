"""DiffPool's losses against values worked out by hand, and against the dense formulation."""

from __future__ import annotations

import pytest
import torch
from graphs import Batch, random_batch
from torch_geometric.nn import dense_diff_pool

from gmpool.graph.edges import Edges
from gmpool.ops.segment import Segments
from gmpool.pool.diffpool import DiffPool, entropy_loss, link_loss


def one_graph(n: int) -> Segments:
    return Segments.from_batch(None, n, None, 1)


def edge() -> Edges:
    return Edges(torch.tensor([[0, 1], [1, 0]]), 2, dtype=torch.float64)


def test_link_loss_by_hand() -> None:
    """Two joined nodes in two clusters of their own: A − SSᵀ = [[-1, 1], [1, -1]], norm 2, n² = 4.
    In one cluster: A − SSᵀ = −I, norm √2."""
    apart = torch.eye(2, dtype=torch.float64)
    a_s = edge().plain.matmul(apart)
    assert float(link_loss(apart, a_s, edge(), one_graph(2))) == pytest.approx(2 / 4)
    together = torch.tensor([[1.0, 0.0], [1.0, 0.0]], dtype=torch.float64)
    a_s = edge().plain.matmul(together)
    assert float(link_loss(together, a_s, edge(), one_graph(2))) == pytest.approx(2**0.5 / 4)


def test_entropy_loss_by_hand() -> None:
    s = torch.tensor([[0.5, 0.5], [0.25, 0.75]], dtype=torch.float64)
    by_hand = (0.6931471805599453 + 0.5623351446188083) / 2
    assert float(entropy_loss(s.log(), one_graph(2))) == pytest.approx(by_hand, abs=1e-12)


def test_a_share_that_has_vanished_has_a_gradient() -> None:
    logits = torch.tensor([[0.0, -2000.0]], requires_grad=True)
    entropy_loss(logits.log_softmax(1), one_graph(1)).backward()
    assert torch.equal(logits.grad, torch.zeros(1, 2))


@pytest.mark.parametrize("weighted", [False, True])
def test_agrees_with_the_dense_formulation(weighted: bool) -> None:
    batch = random_batch([7, 4, 9], 5, seed=1, weighted=weighted)
    torch.manual_seed(0)
    pool = DiffPool(5, 5, num_clusters=3).double()
    edges = Edges.of(batch.edge_index, len(batch.x), torch.float64, batch.weight)
    pooled = pool(batch.x, edges, batch.batch, batch_size=batch.size)
    expected = {"link": 0.0, "entropy": 0.0}
    for b in range(batch.size):
        one: Batch = batch.alone(b)
        adjacency = torch.from_numpy(one.dense())
        edges = Edges.of(one.edge_index, len(one.x), torch.float64, one.weight)
        logits = pool.assign(one.x, edges)
        x, a, link, entropy = dense_diff_pool(one.x, adjacency, logits)
        torch.testing.assert_close(pooled.x[b], x[0])
        torch.testing.assert_close(pooled.edges.blocks[b], a[0])
        expected["link"] += float(link.detach()) / batch.size
        expected["entropy"] += float(entropy.detach()) / batch.size
    for name, value in expected.items():
        assert float(pooled.losses[name].detach()) == pytest.approx(value, abs=1e-9)


def test_a_second_level_pools_the_coarse_graph() -> None:
    batch = random_batch([7, 4], 5, seed=1)
    torch.manual_seed(0)
    first = DiffPool(5, 5, num_clusters=4).double()
    second = DiffPool(5, 5, num_clusters=2).double()
    pooled = first(batch.x, batch.edge_index, batch.batch, batch_size=2)
    coarse = pooled.edges.blocks  # [2, 4, 4]
    rows = pooled.x.flatten(0, 1)
    again = second(rows, pooled.edges, pooled.segments)
    logits = second.assign(rows, pooled.edges).view(2, 4, 2)
    x, a, *_ = dense_diff_pool(pooled.x, coarse, logits)
    torch.testing.assert_close(again.x, x)
    torch.testing.assert_close(again.edges.blocks, a)
    norms = [
        (coarse[b] - logits[b].softmax(1) @ logits[b].softmax(1).t()).norm() / 16 for b in range(2)
    ]
    torch.testing.assert_close(again.losses["link"], sum(norms) / 2)
