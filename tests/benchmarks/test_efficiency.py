"""The two efficiency figures: well-formed rows, reasons where there is no number, a picture."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from marks import on_cuda
from matplotlib import image

import benchmarks.efficiency
from benchmarks import first_pooling
from benchmarks.efficiency import measure, memory_rows, or_why_not, time_rows
from benchmarks.efficiency_figure import _spread, efficiency_figure, recorded_figure
from benchmarks.first_pooling import PEERS, erdos_renyi, options_to_keep
from gmpool.engine.provenance import commit, source_digest, versions
from gmpool.errors import UserError
from gmpool.pool import METHODS
from gmpool.pool.method import GraphSizes

Row = dict[str, Any]


@pytest.fixture(autouse=True)
def few_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmarks.efficiency, "GRAPHS", 2)
    monkeypatch.setattr(benchmarks.efficiency, "ROUNDS", 1)


def test_graphs_have_the_edges_asked_for() -> None:
    graphs = erdos_renyi(30, 60, 3).validate()
    assert graphs.sizes.tolist() == [30, 30, 30]
    assert graphs.symmetric
    ends = graphs.batch([0, 1, 2]).edge_index
    assert ends.unique(dim=1).shape == (2, 3 * 2 * 60)
    assert not bool((ends[0] == ends[1]).any())
    assert bool((ends[0] // 30 == ends[1] // 30).all())


def test_every_method_has_a_time() -> None:
    rows = list(time_rows("cpu", (20,)))
    assert [row["method"] for row in rows] == list(METHODS)
    for row in rows:
        assert row["ours"] > 0, row["ended"]
        assert (row["figure"], row["nodes"], row["unit"]) == ("time", 20, "s")
        assert row["ended"] is row["peer_ended"] is None
        assert row["peer_name"] == PEERS.get(row["method"])
        if row["method"] in PEERS:
            assert row["ratio"] == row["peer"] / row["ours"]
        else:
            assert row["peer"] is row["ratio"] is None
    assert json.loads(json.dumps(rows)) == rows


@pytest.mark.parametrize("method", METHODS)
def test_a_method_pools_to_the_rows_asked_for(method: str) -> None:
    options = options_to_keep(method, 4, 60)
    pool = METHODS[method](8, 8, sizes=GraphSizes(60), **options)
    graphs = erdos_renyi(60, 120, 1).batch([0])
    pooled = pool(torch.randn(60, 8), graphs.edge_index, batch_size=1)
    if METHODS[method].architecture in ("selection", "clusters") and options:
        assert pooled.x.numel() == 4 * 8
    for row in benchmarks.efficiency._contestants(method, graphs.graphs, 4, "cpu").values():
        row()().backward()  # what is measured on a GPU


def test_who_runs_out_is_left_out_from_there_on(monkeypatch: pytest.MonkeyPatch) -> None:
    true = first_pooling.our_layer

    def layer(method: str, graphs: Any, *rest: Any) -> Callable[[], torch.Tensor]:
        if method == "mean" and graphs.sizes[0] > 20:
            raise torch.OutOfMemoryError("tried to allocate 3 TiB")
        if method == "diffpool" and graphs.sizes[0] > 20:
            raise ValueError("no such kernel\nand a long story")
        return true(method, graphs, *rest)

    monkeypatch.setattr(benchmarks.efficiency, "our_layer", layer)
    monkeypatch.setattr(first_pooling, "CHAIN_NODES", 20)
    methods = ["mean", "haarpool", "diffpool", "gin"]
    rows = list(time_rows("cpu", (20, 30, 40), methods))
    said = {(r["method"], r["nodes"]): r for r in rows}
    assert [n for m, n in said if m == "mean"] == [20, 30]
    assert [n for m, n in said if m == "gin"] == [20, 30, 40]
    assert said["mean", 30]["ours"] is said["mean", 30]["ratio"] is None
    assert said["mean", 30]["ended"] == "out of memory"
    assert said["haarpool", 30]["ended"] == "its chain of clusterings takes minutes to make"
    assert said["diffpool", 30]["ended"] == "failed: ValueError: no such kernel"
    assert said["diffpool", 40]["peer"] > 0
    assert efficiency_figure(rows).startswith(b"\x89PNG")


def test_whoever_is_slow_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmarks.efficiency, "LIMIT_S", 0.0)
    (row,) = time_rows("cpu", (20, 30), ["gmt"])
    assert row["ours"] is row["peer"] is None
    assert row["ended"] == row["peer_ended"] == "over the time limit"


def no_room() -> None:
    raise RuntimeError("DefaultCPUAllocator: can't allocate memory")


def test_a_cpu_without_room_is_out_of_memory() -> None:
    assert or_why_not(no_room) == "out of memory"
    assert or_why_not(lambda: 3) == 3


def test_memory_is_that_of_a_gpu() -> None:
    with pytest.raises(UserError, match="CUDA device, got 'cpu'"):
        list(memory_rows("cpu", (20,)))


@on_cuda
def test_memory_grows_with_the_graph() -> None:
    rows = list(memory_rows("cuda", (500, 2000), ["gmt", "mean"]))
    small, _, large, _ = (row["ours"] for row in rows)
    assert 0 < 2 * small < large
    assert all(row["peer"] > row["ours"] for row in rows if row["method"] == "gmt")


def test_the_command_records_and_draws(
    gmpool_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rows = list(time_rows("cpu", (20, 30), ["gmt", "mean"]))
    monkeypatch.setattr(benchmarks.efficiency, "measure", lambda root: rows)
    path, picture = tmp_path / "rows.jsonl", tmp_path / "new" / "figure.png"
    said = gmpool_cli("bench", "efficiency", "--record", path, "--plot", picture)
    assert said.code == 0, said.err
    assert "–" in said.out
    kept = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["device"] for row in kept] == [row["device"] for row in rows]
    origin = {"commit": commit(), "source": source_digest(), "versions": versions()}
    assert all(
        {**row, **origin, "bench": "efficiency", "precision": "float32"} == row for row in kept
    )
    assert recorded_figure([path]) == picture.read_bytes()
    again = tmp_path / "again.png"
    said = gmpool_cli("bench", "efficiency", "--recorded", path, "--plot", again)
    assert said.code == 0, said.err
    assert again.read_bytes() == picture.read_bytes()
    said = gmpool_cli("bench", "efficiency", "--recorded", path)
    assert said.code == 2
    assert "--recorded goes with --plot alone" in said.err
    said = gmpool_cli("bench", "loader", "--plot", picture)
    assert said.code == 2
    assert "loader has no picture" in said.err


def test_a_benchmark_that_breaks_off_keeps_its_rows(
    gmpool_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def until_memory_ends(root: Path | None) -> Iterator[Row]:
        yield from time_rows("cpu", (20,), ["mean"])
        raise UserError("no room for more")

    monkeypatch.setattr(benchmarks.efficiency, "measure", until_memory_ends)
    said = gmpool_cli("bench", "efficiency", "--record", tmp_path / "rows.jsonl")
    assert said.code != 0
    assert "no room for more" in said.err
    (kept,) = (tmp_path / "rows.jsonl").read_text().splitlines()
    assert json.loads(kept)["method"] == "mean"


def some_rows() -> list[Row]:
    """Both figures; one method ends early, one is never there."""
    rows = []
    for figure in ("memory", "time"):
        for number, method in enumerate(METHODS):
            for nodes in (100, 300, 1000):
                value = 0.1 * 2**number * nodes
                out = method == "asap" or (method == "mincut" and nodes > 300)
                rows.append(
                    {"figure": figure, "method": method, "nodes": nodes, "device": "a GPU",
                     "ours": None if out else value, "ended": "out of memory" if out else None,
                     "peer": 3 * value if method in PEERS else None, "peer_ended": None,
                     "peer_name": PEERS.get(method)}
                )  # fmt: skip
    return rows


def test_the_figure_has_a_panel_per_figure_and_nothing_is_cut_off() -> None:
    one = efficiency_figure([row for row in some_rows() if row["figure"] == "time"])
    both = efficiency_figure(some_rows())
    narrow, wide = (image.imread(io.BytesIO(png))[..., :3] for png in (one, both))
    assert wide.shape[1] == 2 * narrow.shape[1]
    for edge in (wide[0], wide[-1], wide[:, 0], wide[:, -1]):
        assert (edge > 0.99).all()
    with pytest.raises(UserError, match="nothing to draw"):
        efficiency_figure([])


def test_a_file_without_rows_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.jsonl cannot be read"):
        recorded_figure([tmp_path / "none.jsonl"])
    (tmp_path / "other.jsonl").write_text('{"bench": "epoch"}\n')
    with pytest.raises(UserError, match=r"no rows of efficiency in .*other\.jsonl"):
        recorded_figure([tmp_path / "other.jsonl"])


def test_names_are_moved_apart_and_keep_their_order() -> None:
    placed = np.array(_spread([0.9, 0.5, 0.5, 0.5, 0.01, 0.0], gap=0.1))
    assert (-np.diff(placed) > 0.1 - 1e-9).all()
    assert placed[-1] > -1e-9
    np.testing.assert_allclose(placed[:4], [0.9, 0.6, 0.5, 0.4])


def test_on_a_cpu_there_are_times_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(benchmarks.efficiency, "TIME_NODES", (20,))
    monkeypatch.setattr(benchmarks.efficiency, "METHODS", ["mean"])
    assert {row["figure"] for row in measure()} == {"time"}
