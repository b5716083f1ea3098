"""DeepSets against PyG's, with the same networks."""

from __future__ import annotations

import torch
from graphs import random_batch
from torch_geometric.nn import aggr

from gmpool.pool.deepsets import DeepSets

DIM = 8


def test_deepsets_agrees_with_pyg() -> None:
    batch = random_batch([6, 1, 9], DIM)
    ours = DeepSets(DIM, 4).double()
    pyg = aggr.DeepSetsAggregation(ours.of_node, ours.of_sum)
    torch.testing.assert_close(
        ours(batch.x, batch.edge_index, batch.batch, batch_size=3).x,
        pyg(batch.x, batch.batch, dim_size=3),
    )
