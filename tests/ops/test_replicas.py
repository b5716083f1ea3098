"""How an operator gains a replica axis."""

from __future__ import annotations

import pytest
import torch

from gmpool.errors import UserError
from gmpool.ops.replicas import shifted, union_ptr


def test_ids_are_moved_up_replica_by_replica() -> None:
    ids = torch.tensor([[0, 1], [1, 0]], dtype=torch.int32)
    assert shifted(ids, 0, 2, 5).tolist() == [0, 1, 6, 5]
    assert union_ptr(torch.tensor([0, 2, 5]), None, 2, 5).tolist() == [0, 2, 5, 7, 10]


def test_more_rows_than_can_be_numbered_are_refused_and_do_not_wrap() -> None:
    ids = torch.zeros(1, dtype=torch.int32)
    assert shifted(ids, None, 2, 2**30).tolist() == [0, 2**30]
    with pytest.raises(UserError, match="stack fewer with --replicas"):
        shifted(ids, None, 3, 2**30)
