from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from small_sets import classes
from torch_geometric.data import Data

from gmpool.data import PackedGraphs, from_pyg, from_smiles, load, load_packed, save
from gmpool.data.sources.packed_file import FORMAT, packed_once, read
from gmpool.data.splits import random_split
from gmpool.errors import DataError


@pytest.fixture
def graphs() -> PackedGraphs:
    return from_smiles(["CCO", "c1ccccc1", "C"], [0.5, float("nan"), -1.0])


def test_round_trip(graphs: PackedGraphs, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "set.safetensors"
    save(graphs, path)
    back = load_packed(path)
    assert back.digest == graphs.digest
    assert back.graph_names == ("CCO", "c1ccccc1", "C")
    assert back.task == "regression"
    assert torch.equal(back.batch([1, 0]).x, graphs.batch([1, 0]).x)
    assert os.listdir(path.parent) == ["set.safetensors"]


def test_the_split_travels_along(graphs: PackedGraphs, tmp_path: Path) -> None:
    split = random_split(3)
    save(graphs, tmp_path / "a", split)
    back = read(tmp_path / "a")[1]
    assert back is not None
    assert back.digest == split.digest
    save(graphs, tmp_path / "b")
    assert read(tmp_path / "b")[1] is None


def rewrite(path: Path, change: Any) -> None:
    from safetensors import safe_open

    with safe_open(str(path), framework="pt") as file:
        header = dict(file.metadata())
    tensors = {name: tensor.clone() for name, tensor in load_file(path).items()}
    change(tensors, header)
    save_file(tensors, path, header)


def test_a_changed_value_is_found(graphs: PackedGraphs, tmp_path: Path) -> None:
    path = tmp_path / "set.safetensors"
    save(graphs, path)

    def change(tensors: dict[str, torch.Tensor], header: dict[str, str]) -> None:
        tensors["node_cat"][0, 0] += 1

    rewrite(path, change)
    with pytest.raises(DataError, match=r"set\.safetensors: wrong checksum .* make it again"):
        load_packed(path)
    assert load_packed(path, verify=False).num_graphs == 3


def test_files_that_are_something_else(graphs: PackedGraphs, tmp_path: Path) -> None:
    path = tmp_path / "set.safetensors"
    with pytest.raises(DataError, match="no such file"):
        load_packed(path)
    path.write_text("hello")
    with pytest.raises(DataError, match="not a readable safetensors file"):
        load_packed(path)
    save_file({"weight": torch.zeros(2)}, path)
    with pytest.raises(DataError, match="not a packed dataset of this version"):
        load_packed(path)
    save(graphs, path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(DataError, match="may be truncated"):
        load_packed(path)

    save(graphs, path)
    rewrite(path, lambda tensors, header: tensors.pop("col"))
    with pytest.raises(DataError, match="fields are missing or wrong"):
        load_packed(path)

    save(graphs, path)
    rewrite(path, lambda tensors, header: tensors.update(other=torch.zeros(1)))
    with pytest.raises(DataError, match="unknown fields other"):
        load_packed(path)


def test_content_is_checked_even_when_the_checksum_fits(tmp_path: Path) -> None:
    graphs = from_pyg([Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]))])
    path = tmp_path / "set.safetensors"
    save(graphs, path)

    def change(tensors: dict[str, torch.Tensor], header: dict[str, str]) -> None:
        tensors["col"][0] = 9
        meta = json.loads(header["meta"])
        values = {k: tuple(v) if isinstance(v, list) else v for k, v in meta.items()}
        header["digest"] = PackedGraphs(**values, **tensors).digest

    rewrite(path, change)
    with pytest.raises(DataError, match="that graph has only 2 nodes"):
        load_packed(path)


def test_a_failed_write_leaves_nothing(
    graphs: PackedGraphs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(DataError, match=r"cannot write .*set: .*No space left on device"):
        save(graphs, tmp_path / "set")
    assert os.listdir(tmp_path) == []


def test_what_was_packed_is_not_packed_again(own_cache: Path) -> None:
    graphs, split = classes(6), random_split(6)
    assert packed_once("set", "a" * 64, lambda: (graphs, split))[0] is graphs
    again, known = packed_once("set", "a" * 64, lambda: pytest.fail("made twice"))
    assert again.digest == graphs.digest
    assert known is not None
    assert known.digest == split.digest
    packed_once("set", "b" * 64, lambda: (graphs, None))  # from another file
    names = sorted(path.name for path in (own_cache / FORMAT).iterdir())
    assert names == [f"set-{'a' * 16}.safetensors", f"set-{'b' * 16}.safetensors"]


@pytest.mark.data
def test_a_damaged_cache_is_packed_again(
    data_root: Path, own_cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    want = load("PROTEINS", data_root).graphs.digest
    (cached,) = (own_cache / FORMAT).iterdir()
    cached.write_bytes(cached.read_bytes()[:-1000])
    with caplog.at_level(logging.WARNING):
        assert load("PROTEINS", data_root).graphs.digest == want
    assert "packing again" in caplog.text
    assert load_packed(cached).digest == want


@pytest.mark.data
def test_a_cache_that_cannot_be_written_costs_nothing_but_time(
    data_root: Path, own_cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own_cache.parent.mkdir()
    own_cache.write_text("a file where a folder should be")
    assert len(load("MUTAG", data_root).graphs) == 188
    assert "not cached: cannot write" in caplog.text
