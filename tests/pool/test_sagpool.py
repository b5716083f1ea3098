"""SAGPool: which nodes stay, and with what."""

from __future__ import annotations

import pytest
import torch
from graphs import random_batch
from torch_geometric.nn import GCNConv as PyGConv
from torch_geometric.nn import SAGPooling

from gmpool.errors import UserError
from gmpool.pool.sagpool import SAGPool, SAGPoolGlobal

DIM = 5


def edges_of(edge_index: torch.Tensor) -> list[tuple[int, int]]:
    return sorted(zip(*edge_index.tolist(), strict=True))


def test_sagpool_agrees_with_pyg_at_weight_one() -> None:
    """PyG multiplies the score by one more learned number, which may turn the order round (its
    issue 9862). At 1 the two agree."""
    batch = random_batch([9, 1, 6, 13], DIM, seed=2)
    torch.manual_seed(0)
    ours = SAGPool(DIM, DIM, ratio=0.5).double()
    pyg = SAGPooling(DIM, ratio=0.5, GNN=PyGConv).double()
    with torch.no_grad():
        pyg.gnn.lin.weight.copy_(ours.score.weight)
        pyg.gnn.bias.copy_(ours.score.bias)
        pyg.select.weight.fill_(1.0)
    pooled = ours(batch.x, batch.edge_index, batch.batch, batch_size=4)
    x, edge_index, _, _, perm, _ = pyg(batch.x, batch.edge_index, batch=batch.batch)
    order = perm.argsort()
    assert torch.equal(pooled.kept, perm[order])
    torch.testing.assert_close(pooled.x, x[order])
    assert edges_of(pooled.edge_index) == edges_of(order.argsort()[edge_index])
    with torch.no_grad():
        pyg.select.weight.fill_(-1.0)
    turned = pyg(batch.x, batch.edge_index, batch=batch.batch)[4]
    assert not torch.equal(turned.sort().values, pooled.kept)


def test_sagpool_global_reads_mean_and_maximum_of_the_kept() -> None:
    batch = random_batch([8, 3], DIM)
    torch.manual_seed(0)
    both, layer = SAGPoolGlobal(DIM, DIM).double(), SAGPool(DIM, DIM).double()
    layer.load_state_dict(both.state_dict())
    out = both(batch.x, batch.edge_index, batch.batch, batch_size=2)
    rows = layer(batch.x, batch.edge_index, batch.batch, batch_size=2)
    for b in range(2):
        mine = rows.x[rows.batch == b]
        torch.testing.assert_close(out.x[b], torch.cat([mine.mean(0), mine.amax(0)]))


def test_edge_weights_count_in_the_score() -> None:
    batch = random_batch([9, 6], DIM, weighted=True)
    torch.manual_seed(0)
    pool = SAGPoolGlobal(DIM, DIM, ratio=1.0).double()
    args = (batch.x, batch.edge_index, batch.batch)
    assert not torch.allclose(pool(*args).x, pool(*args, edge_weight=batch.weight).x)


def test_scored_by_a_graph_convolution_it_agrees_with_pyg() -> None:
    """With PyG's own scorer, and its multiplier at 1."""
    batch = random_batch([9, 1, 6, 13], DIM, seed=2, directed=True)
    torch.manual_seed(0)
    ours = SAGPool(DIM, DIM, ratio=0.5, scored_by="graph").double()
    pyg = SAGPooling(DIM, ratio=0.5).double()
    with torch.no_grad():
        pyg.gnn.lin_root.weight.copy_(ours.score.itself.weight)
        pyg.gnn.lin_rel.weight.copy_(ours.score.around.weight)
        pyg.gnn.lin_rel.bias.copy_(ours.score.itself.bias)
        pyg.select.weight.fill_(1.0)
    pooled = ours(batch.x, batch.edge_index, batch.batch, batch_size=4)
    x, edge_index, _, _, perm, _ = pyg(batch.x, batch.edge_index, batch=batch.batch)
    order = perm.argsort()
    assert torch.equal(pooled.kept, perm[order])
    torch.testing.assert_close(pooled.x, x[order])
    assert edges_of(pooled.edge_index) == edges_of(order.argsort()[edge_index])


def test_a_scorer_that_there_is_not() -> None:
    with pytest.raises(UserError, match="scored_by"):
        SAGPool(DIM, DIM, scored_by="gat")
