"""Categories as numbers give what their one-hot rows give, forward and backward."""

from __future__ import annotations

import pytest
import torch
from graphs import random_batch

from gmpool.graph.edges import Edges
from gmpool.graph.one_hot import OneHot
from gmpool.nn.encoder import Encoder

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
