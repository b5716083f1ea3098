from __future__ import annotations

import hashlib
import json
import logging
import os
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from mutated_packed import mutated_packed_file
from safetensors.torch import load_file, save_file
from small_sets import classes
from torch_geometric.data import Data

from gmpool.data import PackedGraphs, from_pyg, from_smiles, load, load_packed, save
from gmpool.data.sources import packed_file
from gmpool.data.sources.packed_file import FORMAT, packed_once, read
from gmpool.data.splits import Split, random_split
from gmpool.errors import DataError, UserError

PARTS = ("train", "valid", "test")


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


def test_a_set_from_a_file_can_be_split_otherwise(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    smiles = ["CCO", "OCC", "c1ccccc1", "Cc1ccccc1", "C1CC1", "CC1CC1", "N", "CN"]
    path = tmp_path / "set.safetensors"
    save(from_smiles(smiles, [0.5 * i for i in range(8)]), path, random_split(8))
    own = load(path)
    assert own.folds[0].digest == random_split(8).digest
    assert own.split_kind == {}
    assert "split: 6 train, 1 valid, 1 test" in own.understood
    assert own.understood[-1].startswith(
        "warning: 1 molecule is in several rows that lie in several"
    )
    made = load(path, split="scaffold", folds=3)
    assert sorted(split.test.tolist() for split in made.folds) == [[0, 1, 6, 7], [2, 3], [4, 5]]
    assert made.split_kind["repeated_molecules"] == 1
    save(classes(12), path)
    assert load(path, split="stratified", folds=4).split_kind["folds"] == 4
    with pytest.raises(UserError, match="--split scaffold is for tables of molecules, and shapes"):
        load(path, split="scaffold")


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
    with pytest.raises(
        DataError, match=r"set\.safetensors: damaged .*wrong checksum: .* make it again"
    ):
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
    with pytest.raises(DataError, match=r"damaged or no packed dataset .*'col'"):
        load_packed(path)

    save(graphs, path)
    rewrite(path, lambda tensors, header: tensors.update(other=torch.zeros(1)))
    with pytest.raises(DataError, match="unknown fields 'other'"):
        load_packed(path)


def test_content_is_checked_even_when_the_checksum_fits(tmp_path: Path) -> None:
    graphs = from_pyg([Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]))])
    path = tmp_path / "set.safetensors"
    save(graphs, path)

    def change(tensors: dict[str, torch.Tensor], header: dict[str, str]) -> None:
        tensors["col"][0] = 9
        meta = json.loads(header["meta"])
        values = {k: tuple(v) if isinstance(v, list) else v for k, v in meta.items()}
        digest = PackedGraphs(**values, **tensors).digest
        header["checksum"] = hashlib.sha256(f"{digest} None".encode()).hexdigest()

    rewrite(path, change)
    with pytest.raises(DataError, match="that graph has only 2 nodes"):
        load_packed(path)


def test_a_flipped_bit_of_a_split_is_found(graphs: PackedGraphs, tmp_path: Path) -> None:
    """A graph would move from the test part into training."""
    path = tmp_path / "set.safetensors"
    split = Split(torch.tensor([0]), torch.tensor([1]), torch.tensor([2]))
    save(graphs, path, split)

    def spoil(part: str, ids: torch.Tensor) -> None:
        rewrite(path, lambda tensors, header: tensors.update({f"split.{part}": ids}))

    spoil("test", torch.tensor([], dtype=torch.int64))
    with pytest.raises(DataError, match=r"set\.safetensors: damaged .*wrong checksum"):
        load(path)
    spoil("test", torch.tensor([1]))
    with pytest.raises(DataError, match="graph 1 is in the split parts valid and test"):
        load(path)
    spoil("test", torch.tensor([3]))
    with pytest.raises(DataError, match="split part test names graph 3, but there are 3"):
        load(path)
    save(graphs, path, split)
    rewrite(path, lambda tensors, header: [tensors.pop(f"split.{part}") for part in PARTS])
    with pytest.raises(DataError, match="wrong checksum"):
        load(path)
    save(graphs, path, split)
    rewrite(path, lambda tensors, header: tensors.pop("split.test"))
    with pytest.raises(DataError, match="a split needs the parts train, valid, test"):
        load(path)
    with pytest.raises(DataError, match="graph 0 is in the split parts train and valid"):
        save(graphs, path, Split(torch.tensor([0]), torch.tensor([0]), torch.tensor([2])))


def test_the_format_before_is_read(
    graphs: PackedGraphs, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "set.safetensors"
    for split in (None, random_split(3)):
        save(graphs, path, split)
        old = {"format": "gmpool-packed-2", "digest": graphs.digest}
        rewrite(path, lambda tensors, header, old=old: header.update(old))
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            back, found = read(path)
        assert back.digest == graphs.digest
        assert (found is None) == (split is None)
        assert ("does not cover the split; save it again" in caplog.text) == (split is not None)
    rewrite(path, lambda tensors, header: header.update(digest="0" * 64))
    with pytest.raises(DataError, match="wrong checksum"):
        read(path)


def test_mutated_files_are_read_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes flipped, cut and put in, values of the header exchanged, tensors changed; half of them
    with a checksum that fits. What is read can be used."""
    path = tmp_path / "set.safetensors"
    read_well = refused = 0
    for seed in range(400):
        rng = random.Random(seed)
        mutated_packed_file(rng, path)
        with monkeypatch.context() as patch:
            if rng.random() < 0.5:
                patch.setattr(packed_file, "_check_sum", lambda *_: None)
            try:
                data = load(path)
            except DataError as error:
                refused += str(error).startswith(f"{path}: ")
                continue
        read_well += 1
        batch = data.graphs.batch(range(len(data.graphs)))
        assert batch.x.isfinite().all(), seed
        assert batch.gcn.weight is not None
        assert batch.edge_index.numel() == 2 * data.graphs.num_edges
    assert read_well > 10
    assert refused + read_well == 400, "an error does not name its file"


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
