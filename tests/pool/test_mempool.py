"""MemPool against PyG's, weights copied over, and its loss by hand."""

from __future__ import annotations

import pytest
import torch
from graphs import random_batch
from torch_geometric.nn import MemPooling

from gmpool.ops.segment import Segments
from gmpool.pool.mempool import MemoryLayer, MemPool, sharpening_loss

DIM, HEADS = 8, 2


def test_memory_layer_agrees_with_pyg() -> None:
    batch = random_batch([6, 1, 9], DIM)
    torch.manual_seed(0)
    ours = MemoryLayer(DIM, 4, num_keys=3, num_heads=HEADS, tau=1.5).double()
    pyg = MemPooling(DIM, 4, HEADS, 3, tau=1.5).double()
    with torch.no_grad():
        pyg.k.copy_(ours.keys)
        pyg.conv.weight.copy_(ours.heads.weight.view(1, HEADS, 1, 1))
        pyg.lin.weight.copy_(ours.linear.weight)
    segments = Segments.from_batch(batch.batch, len(batch.x), None, 3)
    rows, c = ours(batch.x, segments)
    expected, s = pyg(batch.x, batch.batch)
    torch.testing.assert_close(rows, expected)
    for b, n in enumerate([6, 1, 9]):
        mine = c[batch.batch == b]
        torch.testing.assert_close(mine, s[b, :n])
        # PyG divides by the number of graphs, we by the number of nodes.
        alone = sharpening_loss(mine, Segments.from_batch(None, n, None, 1))
        torch.testing.assert_close(alone, MemPooling.kl_loss(s[b : b + 1, :n].clone()) / n)


def test_sharp_clusters_cost_nothing_and_blurred_ones_do() -> None:
    one = Segments.from_batch(None, 4, None, 1)
    sharp = torch.eye(2).repeat(2, 1)
    assert float(sharpening_loss(sharp, one)) == pytest.approx(0.0, abs=1e-6)
    blurred = torch.tensor([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.3, 0.7]])
    total = blurred.sum(0)
    p = blurred**2 / total
    p = p / p.sum(1, keepdim=True)
    expected = (p * (p / blurred).log()).sum(1).mean()
    torch.testing.assert_close(sharpening_loss(blurred, one), expected)


def test_two_layers_lead_to_one_row() -> None:
    batch = random_batch([6, 1, 9], DIM)
    torch.manual_seed(0)
    pool = MemPool(DIM, 4, num_keys=3, heads=HEADS, kl_weight=0.5).double()
    pooled = pool(batch.x, batch.edge_index, batch.batch, batch_size=3)
    segments = Segments.from_batch(batch.batch, len(batch.x), None, 3)
    rows, c = pool.first(batch.x, segments)
    rows = torch.nn.functional.leaky_relu(rows).flatten(0, 1)
    last, _ = pool.last(rows, Segments.uniform(3, 3))
    torch.testing.assert_close(pooled.x, last[:, 0])
    torch.testing.assert_close(pooled.assignment, c)
    torch.testing.assert_close(pooled.losses["kl"], 0.5 * sharpening_loss(c, segments))
