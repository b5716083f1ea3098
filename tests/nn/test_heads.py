"""The classifier after a pooling."""

from __future__ import annotations

import torch
from torch import nn

from gmpool.nn.heads import classifier


def test_widths_halve_and_dropout_acts_in_training_only() -> None:
    torch.manual_seed(0)
    head = classifier(6, 8, 3, dropout=0.5)
    maps = [part for part in head if isinstance(part, nn.Linear)]
    assert [(m.in_features, m.out_features) for m in maps] == [(6, 8), (8, 4), (4, 3)]
    x = torch.randn(5, 6)
    assert not torch.equal(head(x), head(x))
    one, two, three = maps
    expected = three(torch.relu(two(torch.relu(one(x)))))
    torch.testing.assert_close(head.eval()(x), expected)
