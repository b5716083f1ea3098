"""Sum pooling by hand, and the message passing of its row."""

from __future__ import annotations

import torch

from gmpool.pool.gin import SumPool


def test_the_sum_of_each_graph() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 6.0], [5.0, 7.0]])
    none = torch.zeros(2, 0, dtype=torch.long)
    pooled = SumPool(2, 9)(x, none, torch.tensor([0, 0, 2]), batch_size=3)
    assert pooled.x.tolist() == [[4, 8], [0, 0], [5, 7]]
    assert SumPool(2, 9).out_dim == 2


def test_its_row_passes_messages_by_gin() -> None:
    assert SumPool.settings == {"conv": "gin"}
