from __future__ import annotations

import importlib.util
import logging
import shutil
import zipfile
from pathlib import Path

import pytest
import torch

from gmpool.data import CATALOGUE, PackedGraphs, load, load_table
from gmpool.data.packed_file import FORMAT, write
from gmpool.data.splits import random_split
from gmpool.errors import DataError, UserError

TU = [n for n, e in CATALOGUE.items() if e.kind == "tu"]
SPLITS = {
    "ogbg-molbbbp": (1631, 204, 204),
    "ogbg-moltox21": (6264, 783, 784),
    "ogbg-moltoxcast": (6860, 858, 858),
    "ogbg-molhiv": (32901, 4113, 4113),
}


@pytest.mark.data
@pytest.mark.parametrize("name", TU)
def test_tu_sets(name: str, data_root: Path) -> None:
    entry = CATALOGUE[name]
    data = load(name, data_root)
    assert data.name == data.graphs.name == name
    assert (len(data.graphs), data.graphs.num_outputs) == (entry.graphs, entry.outputs)
    assert data.graphs.mean_nodes == pytest.approx(entry.mean_nodes, abs=0.005)
    assert data.graphs.digest == entry.content
    assert len(data.folds) == 10
    assert data.metric == "accuracy"


@pytest.mark.data
@pytest.mark.parametrize(
    "name",
    [
        "ogbg-molbbbp",
        "ogbg-moltox21",
        "ogbg-moltoxcast",
        pytest.param("ogbg-molhiv", marks=pytest.mark.slow),
    ],
)
def test_molecule_sets(name: str, data_root: Path, own_cache: Path) -> None:
    entry = CATALOGUE[name]
    data = load(name, data_root)
    assert (len(data.graphs), data.graphs.num_outputs) == (entry.graphs, entry.outputs)
    assert data.graphs.mean_nodes == pytest.approx(entry.mean_nodes, abs=0.005)
    assert data.metric == "roc_auc"
    (split,) = data.folds
    assert tuple(p.numel() for p in (split.train, split.valid, split.test)) == SPLITS[name]
    again = load(name, data_root)
    assert again.graphs.digest == data.graphs.digest
    assert again.folds[0].digest == split.digest
    assert len(list((own_cache / FORMAT).iterdir())) == 1


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
    assert PackedGraphs.load(cached).digest == want


@pytest.mark.data
def test_a_cache_that_cannot_be_written_costs_nothing_but_time(
    data_root: Path, own_cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own_cache.parent.mkdir()
    own_cache.write_text("a file where a folder should be")
    assert len(load("MUTAG", data_root).graphs) == 188
    assert "not cached: cannot write" in caplog.text


def test_mutag_from_grakel_is_verified_by_content() -> None:
    if importlib.util.find_spec("grakel") is None:
        pytest.skip("grakel is not installed")
    data = load("MUTAG")
    assert data.graphs.digest == CATALOGUE["MUTAG"].content


@pytest.mark.data
def test_other_bytes_are_accepted_only_with_the_same_graphs(
    data_root: Path, tmp_path: Path
) -> None:
    def repack(change: bytes | None) -> Path:
        with (
            zipfile.ZipFile(data_root / "MUTAG.zip") as old,
            zipfile.ZipFile(tmp_path / "MUTAG.zip", "w") as new,
        ):
            for entry in old.namelist():
                data = old.read(entry)
                if change and entry.endswith("node_labels.txt"):
                    data = change + data[1:]
                new.writestr(entry, data)
        return tmp_path

    assert len(load("MUTAG", repack(None)).graphs) == 188
    with pytest.raises(DataError, match=r"MUTAG\.zip: wrong checksum \(expected content .*delete"):
        load("MUTAG", repack(b"3"))


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "file"), [("ogbg-molbbbp", "ogbg-molbbbp.csv.gz"), ("COLLAB", "COLLAB_packed.npz")]
)
def test_wrong_checksums(name: str, file: str, data_root: Path, tmp_path: Path) -> None:
    shutil.copyfile(data_root / file, tmp_path / file)
    with (tmp_path / file).open("ab") as out:
        out.write(b"x")
    expected = CATALOGUE[name].files[file]
    with pytest.raises(DataError, match=rf"{file}: wrong checksum \(expected {expected}, found"):
        load(name, tmp_path)


def test_paths(tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    table.write_text("smiles,y\n" + "".join(f"{'C' * i},{i / 2}\n" for i in range(1, 13)))
    data = load(table)
    assert (data.name, data.metric, len(data.folds)) == ("mine", "rmse", 1)
    assert data.folds[0].digest == random_split(12).digest
    packed = tmp_path / "mine.safetensors"
    data.graphs.save(packed)
    assert len(load(packed).folds) == 10
    write(data.graphs, packed, data.folds[0])
    assert load(packed).folds[0].digest == data.folds[0].digest
    few = load_table(table, label_columns=())
    assert (few.folds, few.metric, few.graphs.y) == ((), None, None)
    table.write_text("smiles,y\nC,1\nC(,0\n")
    partial = load_table(table, skip_bad_rows=True)
    assert len(partial.skipped) == 1
    assert partial.metric == "roc_auc"


def test_tu_folder_of_a_user(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "own_A.txt").write_text("".join(f"{2 * g + 1}, {2 * g + 2}\n" for g in range(6)))
    (folder / "own_graph_indicator.txt").write_text("".join(f"{g}\n{g}\n" for g in range(1, 7)))
    (folder / "own_graph_labels.txt").write_text("0\n1\n" * 3)
    data = load(folder)
    assert data.metric == "accuracy"
    assert len(data.folds) == 6
    assert torch.equal(data.graphs.sizes, torch.full((6,), 2))


def test_names_and_paths_that_do_not_exist(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="unknown dataset 'PROTEIN'; did you mean 'PROTEINS'"):
        load("PROTEIN")
    with pytest.raises(DataError, match="no such file or folder"):
        load(tmp_path / "nowhere" / "set")
    with pytest.raises(DataError, match=r"x\.csv: no such file"):
        load("x.csv")
    (tmp_path / "x.pdf").touch()
    with pytest.raises(DataError, match=r"x\.pdf: not a kind of file that can be read"):
        load(tmp_path / "x.pdf")
