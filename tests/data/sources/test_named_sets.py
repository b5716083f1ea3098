from __future__ import annotations

import gzip
import importlib.util
import logging
import os
import shutil
import sys
import zipfile
from pathlib import Path

import pytest
from local_server import serving
from small_tu import write_tu

from gmpool.data import CATALOGUE, Entry, card, dataset_names, load, random_split, stratified_folds
from gmpool.data.sources import named_sets
from gmpool.data.sources.find_file import sha256
from gmpool.data.sources.named_sets import find_tu_set, load_tu_set
from gmpool.data.sources.packed_file import FORMAT
from gmpool.errors import DataError


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr("requests.get", refuse)


@pytest.mark.data
@pytest.mark.parametrize("name", dataset_names("tu"))
def test_tu_sets(name: str, data_root: Path) -> None:
    entry = CATALOGUE[name]
    data = load(name, data_root)
    assert data.name == data.graphs.name == name
    assert (len(data.graphs), data.graphs.num_outputs) == (entry.graphs, entry.outputs)
    assert data.graphs.num_nodes == entry.nodes
    known = card(name)
    assert known is not None
    assert data.digest == entry.content == known.digest
    assert tuple(fold.digest for fold in data.folds) == known.split_digests
    assert len(data.folds) == 10
    assert data.metric == "accuracy"


def test_the_order_of_places(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = [tmp_path / "root", tmp_path / "env", own_cache]
    for place in places:
        place.mkdir(parents=True)
        (place / "DD.zip").touch()
    monkeypatch.setenv("GMPOOL_DATA", str(places[1]))
    assert find_tu_set("DD", places[0]) == places[0] / "DD.zip"
    (places[1] / "DD.zip").unlink()
    assert find_tu_set("DD") == own_cache / "DD.zip"
    folder = places[1] / "DD" / "raw"
    folder.mkdir(parents=True)
    (folder / "DD_A.txt").touch()
    assert find_tu_set("DD") == folder


@pytest.mark.usefixtures("offline")
def test_missing_files_say_what_to_put_where(tmp_path: Path, own_cache: Path) -> None:
    with pytest.raises(DataError) as caught:
        find_tu_set("COLLAB", tmp_path)
    text = str(caught.value)
    assert "COLLAB_packed.npz or COLLAB.zip" in text
    assert "no network" in text
    assert f"put it into one of: {tmp_path}, {own_cache}" in text


@pytest.mark.usefixtures("offline")
def test_mutag_comes_with_grakel(monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("grakel") is None:
        pytest.skip("grakel is not installed")
    monkeypatch.delitem(sys.modules, "grakel", raising=False)
    assert find_tu_set("MUTAG").parts[-4:] == ("grakel", "tests", "data", "MUTAG")
    assert "grakel" not in sys.modules
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"no file MUTAG\.zip"):
        find_tu_set("MUTAG")


def test_what_is_nowhere_is_downloaded(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert named_sets.HOME == "https://www.chrsmrrs.com/graphkerneldatasets"
    new = Entry("tu", "", graphs=1, nodes=1, outputs=1, files={"NEW.zip": "0" * 64})
    monkeypatch.setitem(CATALOGUE, "NEW", new)
    files = {"DD.zip": b"zip bytes", "MUTAG.zip": b"x" * (5 << 20), "NEW.zip": b"other"}
    with serving(files) as (home, asked):
        monkeypatch.setattr(named_sets, "HOME", home)
        monkeypatch.setattr(named_sets, "_grakel_mutag", lambda: None)
        assert find_tu_set("DD").read_bytes() == b"zip bytes"
        assert find_tu_set("DD") == own_cache / "DD.zip"
        assert asked == ["/DD.zip"]
        with pytest.raises(DataError, match=r"MUTAG\.zip: larger than the 4,194,304 bytes"):
            find_tu_set("MUTAG")
        with pytest.raises(DataError, match=r"NEW\.zip.* does not match the known hash"):
            find_tu_set("NEW")
        with pytest.raises(DataError, match=r"no file PROTEINS\.zip .*404"):
            find_tu_set("PROTEINS")
    assert os.listdir(own_cache) == ["DD.zip"]


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
def test_wrong_checksum(data_root: Path, tmp_path: Path) -> None:
    name, file = "COLLAB", "COLLAB_packed.npz"
    shutil.copyfile(data_root / file, tmp_path / file)
    with (tmp_path / file).open("ab") as out:
        out.write(b"x")
    expected = CATALOGUE[name].files[file]
    with pytest.raises(DataError, match=rf"{file}: wrong checksum \(expected {expected}, found"):
        load_tu_set(name, tmp_path)


NEW = Entry("tu", "a set that a user adds", graphs=30, nodes=90, outputs=2)


@pytest.fixture
def new_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a set NEW that is one entry of the catalogue, of which little is known."""
    monkeypatch.setitem(CATALOGUE, "NEW", NEW)
    folder = write_tu(tmp_path / "root" / "NEW", "NEW", graphs=30, nodes=3)
    with zipfile.ZipFile(tmp_path / "root" / "NEW.zip", "w") as archive:
        for file in folder.iterdir():
            archive.write(file, f"NEW/{file.name}")
    return tmp_path / "root"


def test_a_new_set_is_one_entry(new_set: Path) -> None:
    data = load("NEW", str(new_set))
    assert (data.name, len(data), data.metric) == ("NEW", 30, "accuracy")
    assert data.graphs.y is not None
    want = [fold.digest for fold in stratified_folds(data.graphs.y, 10)]
    assert [fold.digest for fold in data.folds] == want
    assert card("NEW") is None, "neither its content nor its folds are known beforehand"
    shutil.rmtree(new_set / "NEW")
    assert load("NEW", new_set).digest == data.digest
    (new_set / "NEW.zip").write_text("no zip")
    with pytest.raises(DataError, match="not a readable zip file"):
        load("NEW", new_set)


def test_what_an_entry_knows_is_verified(new_set: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest, file = load("NEW", new_set).digest, sha256(new_set / "NEW.zip")
    for known, fits in (
        ({"files": {"NEW.zip": file}}, True),
        ({"files": {"NEW.zip": "0" * 64}}, False),
        ({"content": digest}, True),
        ({"content": "0" * 64}, False),
        ({"files": {"NEW.zip": "0" * 64}, "content": digest}, True),
    ):
        entry = Entry("tu", "", graphs=30, nodes=90, outputs=2, **known)
        monkeypatch.setitem(CATALOGUE, "NEW", entry)
        if fits:
            assert load("NEW", new_set).digest == digest
        else:
            with pytest.raises(DataError, match=r"NEW\.zip: wrong checksum"):
                load("NEW", new_set)


SPLITS = {
    "ogbg-molbbbp": (1631, 204, 204),
    "ogbg-moltox21": (6264, 783, 784),
    "ogbg-moltoxcast": (6860, 858, 858),
    "ogbg-molhiv": (32901, 4113, 4113),
}


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
    assert data.graphs.num_nodes == entry.nodes
    assert data.metric == "roc_auc"
    known = card(name)
    assert known is not None
    assert data.digest == entry.content == known.digest
    (split,) = data.folds
    assert known.split_digests == (split.digest,)
    assert tuple(p.numel() for p in (split.train, split.valid, split.test)) == SPLITS[name]
    again = load(name, data_root)
    assert again.graphs.digest == data.graphs.digest
    assert again.folds[0].digest == split.digest
    assert len(list((own_cache / FORMAT).iterdir())) == 1


@pytest.mark.data
def test_zinc_is_what_its_card_says(data_root: Path) -> None:
    data, known = load("ZINC", data_root), card("ZINC")
    assert known is not None
    assert (data.digest, data.graphs.num_nodes) == (known.digest, known.nodes)
    assert tuple(fold.digest for fold in data.folds) == known.split_digests
    assert data.metric is None


@pytest.mark.data
def test_wrong_checksum_of_molecules(data_root: Path, tmp_path: Path) -> None:
    name, file = "ogbg-molbbbp", "ogbg-molbbbp.csv.gz"
    shutil.copyfile(data_root / file, tmp_path / file)
    with (tmp_path / file).open("ab") as out:
        out.write(b"x")
    expected = CATALOGUE[name].files[file]
    with pytest.raises(DataError, match=rf"{file}: wrong checksum \(expected {expected}, found"):
        load(name, tmp_path)


def test_missing_files_are_not_fetched() -> None:
    with pytest.raises(DataError, match=r"no file ogbg-molhiv\.csv\.gz \(it is not fetched"):
        load("ogbg-molhiv")


def test_a_new_set_of_molecules_is_one_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("rdkit")
    with gzip.open(tmp_path / "NEW.csv.gz", "wt") as file:
        file.write("smiles,y\n" + "".join(f"{'C' * n},{n / 2}\n" for n in range(1, 13)))
    entry = Entry("molecules", "chains", graphs=12, nodes=78, outputs=1)
    monkeypatch.setitem(CATALOGUE, "NEW", entry)
    data = load("NEW", tmp_path)
    assert (data.name, data.metric, data.graphs.num_nodes) == ("NEW", "rmse", entry.nodes)
    assert [fold.digest for fold in data.folds] == [random_split(12).digest]
    assert card("NEW") is None
    other = Entry("molecules", "chains", graphs=12, nodes=78, outputs=1, content="0" * 64)
    monkeypatch.setitem(CATALOGUE, "NEW", other)
    with caplog.at_level(logging.WARNING):
        assert load("NEW", tmp_path).digest == data.digest
    assert f"digest {data.digest}, not {'0' * 64} as they are recorded" in caplog.text
