"""Rows of `gmpool bench growth` and `gmpool bench epoch`, on small graphs."""

from __future__ import annotations

import pytest
import torch
from marks import DEVICES
from small_sets import dataset

from benchmarks import epoch, growth


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "cpu":
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    return str(request.param)


@pytest.fixture
def small(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "NODES", {device: (50, 100)})
    monkeypatch.setattr(growth, "SEEDS_OF", {device: 60})
    monkeypatch.setattr(growth, "MANY_SEEDS", (1, 3))
    monkeypatch.setattr(growth, "COPIED", {device: 2**16})
    monkeypatch.setattr(growth, "ROUNDS", {device: 1})


def test_every_size_is_beside_both_peers_and_its_bytes(small: None, device: str) -> None:
    rows = list(growth.measure())
    sizes = [(50, 4), (100, 4), (60, 1), (60, 3)]
    assert [(r["nodes"], r["seeds"]) for r in rows] == [size for size in sizes for _ in range(3)]
    assert [r["growth"] for r in rows] == ["nodes"] * 6 + ["seeds"] * 6
    for padded, pyg, floor in zip(rows[::3], rows[1::3], rows[2::3], strict=True):
        assert padded["name"].endswith("gmpool vs padded formulation")
        assert pyg["name"].endswith("gmpool vs PyG's readout")
        assert floor["name"].endswith("vs the bytes it must move")
        assert ("replayed" in floor["name"]) == (device == "cuda")
        n = floor["nodes"]
        assert floor["bytes"] == 3 * 4 * 128 * n + 2 * 12 * (4 * n + n)
        assert floor["peer"] == pytest.approx(floor["bytes"] / floor["copy_bytes_per_s"])


def test_who_is_too_slow_once_is_left_out_from_there_on(
    small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growth, "LIMIT_S", -1.0)
    rows = list(growth.measure())
    ended = [r for r in rows if "peer_ended" in r]
    assert [(r["growth"], r["nodes"]) for r in ended] == [("nodes", 50)] * 2 + [("seeds", 60)] * 2
    assert {(r["peer"], r["peer_ended"]) for r in ended} == {(None, "over the time limit")}
    others = [r["name"] for r in rows if "peer_ended" not in r]
    assert len(others) == 4
    assert all(name.endswith("vs the bytes it must move") for name in others)


def test_an_epoch_is_beside_both_peers(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epoch, "load", lambda name, root: dataset())
    monkeypatch.setattr(epoch, "BATCH", 7)
    rows = epoch.measure(rounds=1)
    peers = ["padded formulation", "GCN + PyG's readout at width 128"]
    if device == "cuda":
        peers.append("gmpool, launched")
    assert [r["name"].split(" vs ")[1] for r in rows] == peers
    assert all(r["ours"] > 0 and r["ratio"] > 0 for r in rows)
    assert all({"device", "precision"} <= set(r) for r in rows)
