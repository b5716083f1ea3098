"""Rows of `gmpool bench user_loop`, on small graphs."""

from __future__ import annotations

import pytest
import torch
from marks import DEVICES
from small_sets import dataset

from benchmarks import user_loop


@pytest.mark.parametrize("device", DEVICES)
def test_every_batch_is_beside_both_peers(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if device == "cpu":
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(user_loop, "load", lambda name, root: dataset())
    monkeypatch.setattr(user_loop, "NODES", {device: (50,)})
    monkeypatch.setattr(user_loop, "GRAPHS", 7)
    rows = list(user_loop.measure())
    whats = ["128 molecules", "128 proteins", "one graph of 50 nodes"]
    kinds, peers = ["forward and backward", "forward"], ["PyG's readout", "padded formulation"]
    assert [row["name"] for row in rows] == [
        f"readout of {what}, {kind}: gmpool vs {peer}"
        for what in whats
        for kind in kinds
        for peer in peers
    ]
    assert [row["graphs"] for row in rows] == [7] * 8 + [1] * 4
    assert all(row["ours"] > 0 and row["peer"] > 0 for row in rows)
    assert all(("kernels" in row) == (device == "cuda") for row in rows)
    assert all(min(row["kernels"].values()) > 5 for row in rows if "kernels" in row)


def test_batches_are_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_loop, "load", lambda name, root: dataset())
    first, second = (user_loop.batch_of("any", None, "cpu") for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first[:3], second[:3], strict=True))
    assert first[3] == 24
