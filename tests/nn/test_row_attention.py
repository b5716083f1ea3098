"""Attention among the rows of each graph."""

from __future__ import annotations

import pytest
import torch

from gmpool.errors import UserError
from gmpool.nn.row_attention import RowAttention, complete_graphs
from gmpool.ops.segment import Segments


def test_complete_graphs_of_an_unsorted_batch() -> None:
    batch = torch.tensor([1, 0, 1, 3, 1])
    pairs = complete_graphs(Segments.from_batch(batch, 5, None, 4))
    entries = list(zip(pairs.rows.tolist(), pairs.col.tolist(), strict=True))
    assert set(entries) == {(i, j) for i in range(5) for j in range(5) if batch[i] == batch[j]}
    assert len(entries) == 9 + 1 + 1
    assert [entries[e][::-1] for e in pairs.to_t.tolist()] == entries


@pytest.mark.parametrize("softmax", ["seeds", "nodes"])
@pytest.mark.parametrize("heads", [1, 2])
def test_graphs_of_one_size_are_ragged_graphs(heads: int, softmax: str) -> None:
    """The dense way and the way by entries give the same, in values and gradients."""
    torch.manual_seed(0)
    attention = RowAttention(6, 4, num_heads=heads, softmax=softmax).double()
    x = torch.randn(12, 6, dtype=torch.float64, requires_grad=True)
    found = []
    for graphs in (3, Segments.uniform(4, 3)):
        attended = attention(x, graphs)
        (grad,) = torch.autograd.grad(attended.out.square().sum(), x)
        found.append((attended.out, attended.query, grad))
    torch.testing.assert_close(*found)


def test_softmax_runs_over_queries_or_over_keys() -> None:
    """With equal values, rows of shares that sum to one give those values again."""
    torch.manual_seed(0)
    x = torch.randn(5, 6, dtype=torch.float64)
    for softmax, alike in (("nodes", True), ("seeds", False)):
        attention = RowAttention(6, 4, softmax=softmax).double()
        with torch.no_grad():
            attention.to_query_key_value.weight[8:] = 0
            attention.to_query_key_value.bias[8:] = 1
        out = attention(x, 5).out
        assert torch.allclose(out, torch.ones_like(out)) == alike
        torch.testing.assert_close(out.sum(0), torch.full((4,), 5.0).double())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_heads": 3}, "width 8 cannot be split into num_heads=3"),
        ({"softmax": "seed"}, "unknown softmax axis 'seed'; did you mean 'seeds'"),
        ({"scale": "wide"}, "unknown scale 'wide'"),
    ],
)
def test_options_are_checked(options: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        RowAttention(8, 8, **options)
