from __future__ import annotations

import gzip
import logging
import shutil
from pathlib import Path

import pytest

from gmpool.data import CATALOGUE, Entry, card, load, random_split
from gmpool.data.sources.packed_file import FORMAT
from gmpool.errors import DataError

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
def test_wrong_checksum(data_root: Path, tmp_path: Path) -> None:
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


def test_a_new_set_is_one_entry(
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
