"""The row of each entry, of one matrix and of several at once."""

from __future__ import annotations

import torch
from torch.func import vmap

from gmpool.ops.row_ids import row_ids


def test_rows_of_entries() -> None:
    assert row_ids(torch.tensor([0, 2, 2, 3], dtype=torch.int32), 3).tolist() == [0, 0, 2]
    assert row_ids(torch.tensor([0, 0, 0]), 0).tolist() == []


def test_replicas_have_what_each_has_alone() -> None:
    rowptr = torch.tensor([[0, 2, 2, 5], [0, 0, 5, 5], [0, 1, 4, 5]])
    alone = torch.stack([row_ids(one, 5) for one in rowptr])
    assert torch.equal(vmap(lambda one: row_ids(one, 5))(rowptr), alone)
    assert torch.equal(vmap(lambda one: row_ids(one, 5), in_dims=1)(rowptr.t()), alone)
