"""Clusterings that took long are kept in a file, and the last ones in memory."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from haar_chains import some_graphs

from gmpool.data import load_packed, save
from gmpool.data.pack import pack
from gmpool.data.packed import PackedGraphs
from gmpool.pool.haarpool import chain_cache
from gmpool.pool.haarpool.chain_cache import cached_chain, chain_of


@pytest.fixture
def always_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain_cache, "WORTH_A_FILE_S", 0.0)


def files(cache: Path) -> list[Path]:
    return list((cache / chain_cache.FORMAT).glob("*.safetensors"))


def test_a_quick_clustering_writes_no_file(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain_cache, "WORTH_A_FILE_S", 1e6)
    cached_chain(some_graphs(), 3)
    assert not files(own_cache)


@pytest.mark.usefixtures("always_stored")
def test_clusterings_are_read_from_the_cache(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs = some_graphs(weighted=True)
    made = cached_chain(graphs, 3)
    assert len(files(own_cache)) == 1
    cached_chain(some_graphs(weighted=False), 3)
    assert len(files(own_cache)) == 2, "other weights, other clusterings"
    monkeypatch.setattr(chain_cache, "cluster_table", lambda *_: pytest.fail("not read"))
    for level, again in zip(made, cached_chain(some_graphs(weighted=True), 3), strict=True):
        assert torch.equal(level.cluster, again.cluster)
        assert level.graphs.digest == again.graphs.digest


@pytest.mark.usefixtures("always_stored")
def test_a_damaged_or_unwritable_cache_costs_time_only(
    own_cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = cached_chain(some_graphs(), 3)
    (path,) = files(own_cache)
    path.write_bytes(path.read_bytes()[:-7])
    with caplog.at_level(logging.WARNING):
        again = cached_chain(some_graphs(), 3)
    assert "clustering again" in caplog.text
    assert torch.equal(made[0].cluster, again[0].cluster)
    path.unlink()
    path.parent.rmdir()
    path.parent.write_text("no folder")
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        again = cached_chain(some_graphs(), 3)
    assert "not cached" in caplog.text
    assert torch.equal(made[0].cluster, again[0].cluster)


@pytest.mark.usefixtures("always_stored")
def test_clusters_of_other_graphs_or_with_gaps_are_made_again(
    own_cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = cached_chain(some_graphs(), 3)
    (stored,) = files(own_cache)
    right = load_packed(stored)
    gaps = right.node_cat * 2
    sizes = tuple(2 * size for size in right.cat_sizes)
    for wrong, reason in (
        (replace(right, name="0" * 64), "of other graphs"),
        (replace(right, node_cat=right.node_cat[:, :1], cat_sizes=right.cat_sizes[:1]), "not hold"),
        (replace(right, node_cat=gaps, cat_sizes=sizes), "have gaps"),
    ):
        save(wrong, stored)
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            again = cached_chain(some_graphs(), 3)
        assert reason in caplog.text
        assert torch.equal(made[0].cluster, again[0].cluster)
        assert load_packed(stored).digest == right.digest, "it is stored anew"


def path(n: int) -> PackedGraphs:
    node = torch.arange(n - 1)
    source, target = torch.cat([node, node + 1]), torch.cat([node + 1, node])
    return pack(name="path", sizes=torch.tensor([n]), source=source, target=target)


@pytest.fixture(autouse=True)
def _empty_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain_cache, "_made", {})


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
    monkeypatch.setattr(chain_cache, "cached_chain", lambda *_: pytest.fail("made again"))
    moved = chain_of(graphs.to("meta"), 2)
    assert moved[0].counts.device.type == "meta"
    assert chain_of(graphs, 2) is made


def test_only_so_many_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain_cache, "MOST", 2)
    first, second, _ = (chain_of(path(n), 2) for n in (4, 5, 6))
    assert len(chain_cache._made) == 2
    assert chain_of(path(5), 2) is second
    assert chain_of(path(4), 2) is not first
