"""TopKPool: which nodes stay, and with what."""

from __future__ import annotations

import torch
from graphs import random_batch
from torch_geometric.nn import TopKPooling

from gmpool.pool.topk import TopKPool

DIM = 5


def edges_of(edge_index: torch.Tensor) -> list[tuple[int, int]]:
    return sorted(zip(*edge_index.tolist(), strict=True))


def test_topk_agrees_with_pyg() -> None:
    batch = random_batch([9, 1, 6, 13], DIM, seed=2)
    torch.manual_seed(0)
    ours, pyg = TopKPool(DIM, DIM, ratio=0.4).double(), TopKPooling(DIM, ratio=0.4).double()
    with torch.no_grad():
        pyg.select.weight.copy_(ours.weight[None])
    pooled = ours(batch.x, batch.edge_index, batch.batch, batch_size=4)
    x, edge_index, _, graph, perm, _ = pyg(batch.x, batch.edge_index, batch=batch.batch)
    order = perm.argsort()  # theirs come by score, ours by number
    assert torch.equal(pooled.kept, perm[order])
    assert torch.equal(pooled.batch, graph[order])
    torch.testing.assert_close(pooled.x, x[order])
    assert edges_of(pooled.edge_index) == edges_of(order.argsort()[edge_index])


def test_equal_scores_keep_the_first_nodes() -> None:
    pool = TopKPool(DIM, DIM, ratio=0.5)
    pooled = pool(torch.ones(6, DIM), torch.zeros(2, 0, dtype=torch.long))
    assert pooled.kept.tolist() == [0, 1, 2]


def test_weights_and_features_of_edges_stay_with_them() -> None:
    batch = random_batch([9, 6], DIM, seed=2, weighted=True)
    torch.manual_seed(0)
    pool = TopKPool(DIM, DIM, ratio=0.5).double()
    number = torch.arange(batch.edge_index.shape[1])[:, None]
    args = (batch.x, batch.edge_index, batch.batch)
    pooled = pool(*args, edge_weight=batch.weight, edge_attr=number)
    which = pooled.edges.edge_attr[:, 0]
    assert torch.equal(pooled.kept[pooled.edge_index], batch.edge_index[:, which])
    assert torch.equal(pooled.edge_weight, batch.weight[which])
    assert len(which) > 0
