"""Two linear maps with a ReLU between them."""

from __future__ import annotations

import torch

from gmpool.nn.two_layers import TwoLayers


def test_it_is_the_sequence_it_looks_like() -> None:
    torch.manual_seed(0)
    layers, x = TwoLayers(3, 5, 2).double(), torch.randn(7, 3, dtype=torch.float64)
    first, relu, second = layers
    expected = second(relu(first(x)))
    torch.testing.assert_close(layers(x), expected)
    torch.testing.assert_close(layers(x, relu=True), torch.relu(expected))
    assert (first.out_features, second.out_features) == (5, 2)
