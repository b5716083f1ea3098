"""Chains are remembered by what a set holds, not by the object; the oldest are forgotten."""

from __future__ import annotations

import pytest
import torch

from gmpool.data.pack import pack
from gmpool.data.packed import PackedGraphs
from gmpool.pool.haarpool import chain_memory
from gmpool.pool.haarpool.chain_memory import chain_of


def path(n: int) -> PackedGraphs:
    node = torch.arange(n - 1)
    source, target = torch.cat([node, node + 1]), torch.cat([node + 1, node])
    return pack(name="path", sizes=torch.tensor([n]), source=source, target=target)


@pytest.fixture(autouse=True)
def _empty_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain_memory, "_made", {})


def test_the_chain_is_made_once_and_kept_across_copies() -> None:
    graphs = path(6)
    chain = chain_of(graphs, 2)
    assert chain_of(graphs.to("cpu"), 2) is chain
    assert chain_of(path(6), 2) is chain
    assert chain_of(graphs, 3) is not chain
    assert chain_of(path(7), 2) is not chain


def test_another_device_gets_what_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = path(6)
    made = chain_of(graphs, 2)
    monkeypatch.setattr(chain_memory, "cached_chain", lambda *_: pytest.fail("made again"))
    moved = chain_of(graphs.to("meta"), 2)
    assert moved[0].counts.device.type == "meta"
    assert chain_of(graphs, 2) is made


def test_only_so_many_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain_memory, "MOST", 2)
    first, second, _ = (chain_of(path(n), 2) for n in (4, 5, 6))
    assert len(chain_memory._made) == 2
    assert chain_of(path(5), 2) is second
    assert chain_of(path(4), 2) is not first
