"""Mean pooling by hand."""

from __future__ import annotations

import torch

from gmpool.pool.mean import MeanPool


def test_the_mean_of_each_graph() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 6.0], [5.0, 7.0]])
    none = torch.zeros(2, 0, dtype=torch.long)
    pooled = MeanPool(2, 9)(x, none, torch.tensor([0, 0, 2]), batch_size=3)
    assert pooled.x.tolist() == [[2, 4], [0, 0], [5, 7]]
    assert MeanPool(2, 9).out_dim == 2
