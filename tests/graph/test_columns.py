"""Columns kept apart are the columns side by side."""

from __future__ import annotations

import pytest
import torch
from graphs import random_batch

from gmpool.graph import Columns, Edges
from gmpool.graph.columns import OneHot, plain
from gmpool.nn.encoder import Encoder


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


CATEGORIES = torch.tensor([3, 0, 0, 1, 3, 3, 1, 0])


@pytest.mark.parametrize(
    ("layers", "conv", "hidden"), [(2, "gcn", 6), (2, "gcn", 3), (1, "gin", 6), (0, "gcn", 6)]
)
def test_an_encoder_reads_both(layers: int, conv: str, hidden: int) -> None:
    batch = random_batch([5, 1, 2], 1, directed=True)
    edges = Edges(batch.edge_index, 8)
    torch.manual_seed(0)
    encoder = Encoder(4, hidden, num_layers=layers, conv=conv)
    x = OneHot(CATEGORIES, 4)
    outs = [encoder(given, edges).x for given in (x, x.dense)]
    torch.testing.assert_close(outs[0], outs[1])
    probe, weights = torch.randn_like(outs[0]), list(encoder.parameters())
    found, expected = (torch.autograd.grad(out, weights, probe) for out in outs)
    torch.testing.assert_close(found, expected)


def test_rows_are_chosen() -> None:
    weight = torch.randn(5, 4)
    x = OneHot(CATEGORIES, 4)
    assert x.dense.sum(1).tolist() == [1.0] * 8
    torch.testing.assert_close(x.linear(weight), x.dense @ weight.t())
