"""The row of each entry, of one matrix and of several at once."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.func import vmap

from gmpool.ops.row_ids import inverse, row_ids, stable_order


def test_rows_of_entries() -> None:
    assert row_ids(torch.tensor([0, 2, 2, 3], dtype=torch.int32), 3).tolist() == [0, 0, 2]
    assert row_ids(torch.tensor([0, 0, 0]), 0).tolist() == []


def test_replicas_have_what_each_has_alone() -> None:
    rowptr = torch.tensor([[0, 2, 2, 5], [0, 0, 5, 5], [0, 1, 4, 5]])
    alone = torch.stack([row_ids(one, 5) for one in rowptr])
    assert torch.equal(vmap(lambda one: row_ids(one, 5))(rowptr), alone)
    assert torch.equal(vmap(lambda one: row_ids(one, 5), in_dims=1)(rowptr.t()), alone)


@given(st.lists(st.integers(0, 9), max_size=30), st.sampled_from([1, 7281, 7282, 2**29]))
def test_equal_rows_keep_their_order(rows: list[int], far: int) -> None:
    """Numbers of 16 bits, one more, and of 32."""
    given = torch.tensor(rows, dtype=torch.long) * far
    order = stable_order(given, 9 * far + 1)
    assert order.dtype == torch.int64
    assert order.tolist() == sorted(range(len(rows)), key=rows.__getitem__)


def test_more_rows_than_32_bits_count_are_sorted_too() -> None:
    far = 2**33
    assert stable_order(torch.tensor([far, 1, far - 1, 1]), far + 1).tolist() == [1, 3, 2, 0]


@given(st.permutations(range(9)))
def test_an_inverse_undoes_an_order(order: list[int]) -> None:
    permutation = torch.tensor(order)
    assert torch.equal(permutation[inverse(permutation)], torch.arange(9))
