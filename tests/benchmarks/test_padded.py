"""The yardstick computes what ours computes, so that comparing their speed means something."""

from __future__ import annotations

import pytest
import torch
from graphs import random_batch

from benchmarks.padded import PaddedGMT, copy_weights
from benchmarks.timing import interleaved, versus
from gmpool import GraphMultisetTransformer


@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("heads", [1, 2])
def test_padded_formulation_is_the_same_function(heads: int, layer_norm: bool) -> None:
    torch.manual_seed(0)
    options = {"num_seeds": 3, "num_heads": heads, "layer_norm": layer_norm}
    ours = GraphMultisetTransformer(12, 4, **options).double()
    padded = PaddedGMT(12, 4, **options).double()
    copy_weights(ours, padded)
    batch = random_batch([5, 1, 9, 3], 12)
    x = batch.x.requires_grad_()
    args = (batch.edge_index, batch.batch, batch.size)
    one, other = ours(x, *args), padded(x, *args)
    torch.testing.assert_close(one, other, atol=1e-10, rtol=1e-9)
    (a,), (b,) = (torch.autograd.grad(y.square().sum(), x) for y in (one, other))
    torch.testing.assert_close(a, b, atol=1e-9, rtol=1e-8)


def test_contestants_take_turns() -> None:
    calls: list[str] = []
    times = interleaved(
        {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, rounds=2, warmup=1
    )
    assert "".join(calls) == "ababab"
    (row,) = versus({"a": 2.0, "b": 6.0}, "a", "race")
    assert (row["name"], row["ours"], row["peer"], row["ratio"]) == ("race: a vs b", 2.0, 6.0, 3.0)
    assert set(times) == {"a", "b"}
