"""Columns kept apart are the columns side by side."""

from __future__ import annotations

import torch
from graphs import random_batch

from gmpool.graph import Columns, Edges
from gmpool.graph.columns import plain


def test_columns_are_one_tensor_in_parts() -> None:
    parts = [torch.randn(9, width) for width in (2, 3)]
    columns = Columns(parts)
    assert columns.shape == (9, 5)
    assert (columns.dtype, columns.device) == (torch.float32, torch.device("cpu"))
    assert torch.equal(columns.x, torch.cat(parts, dim=1))
    assert plain(columns) is columns.x
    assert plain(parts[0]) is parts[0]
    assert Columns(parts[:1]).x is parts[0]


def test_what_is_propagated_already_is_not_propagated_again() -> None:
    batch = random_batch([5, 4], 2, dtype=torch.float32)
    edges, other = Edges(batch.edge_index, 9), torch.randn(9, 3)
    known = edges.gcn.matmul(batch.x)
    found = Columns([batch.x, other], [known]).gcn(edges)
    assert found[0] is known
    expected = edges.gcn.matmul(torch.cat([batch.x, other], dim=1))
    torch.testing.assert_close(torch.cat(found, dim=1), expected)
