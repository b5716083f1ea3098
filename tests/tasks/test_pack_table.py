"""A table that is packed part by part is the set that is read at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from small_sets import TEN_MOLECULES

from gmpool.data import graph_rows, load, load_table
from gmpool.data.sources.packed_parts import PackedParts
from gmpool.errors import DataError, UserError
from gmpool.tasks.pack_table import pack_table

pytest.importorskip("rdkit")
PARTS = ("train", "train", "valid", "test", "train")


@pytest.fixture(autouse=True)
def _short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_rows, "PART_ROWS", 3)


def table(folder: Path, *more: str, first: str = "smiles,y,part") -> Path:
    rows = [f"{s},{0.5 * n if n != 4 else ''},{PARTS[n % 5]}" for n, s in enumerate(TEN_MOLECULES)]
    path = folder / "own.csv"
    path.write_text("\n".join([first, *rows, *more]) + "\n")
    return path


def test_it_is_the_set_that_is_read_at_once(tmp_path: Path) -> None:
    path, out = table(tmp_path), tmp_path / "own.safetensors"
    told: list[int] = []
    pack_table(
        path, out, label_columns=["y"], split_column="part", keep_smiles=True,
        told=lambda rows, total: told.append(rows),
    )  # fmt: skip
    expected, found = load_table(path, label_columns=["y"], split_column="part"), load(str(out))
    assert found.graphs.digest == expected.graphs.digest
    assert found.folds[0].digest == expected.folds[0].digest
    assert told == [3, 6, 9, 10]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["own.csv", "own.safetensors"]


def test_a_large_molecule_makes_sources_wide(tmp_path: Path) -> None:
    path, out = table(tmp_path, f"{'C' * 300},1,train"), tmp_path / "own.safetensors"
    pack_table(path, out, label_columns=["y"], split_column="part")
    found = load(str(out)).graphs
    assert found.col.dtype == torch.int16
    assert found.graph_names is None
    expected = load_table(path, label_columns=["y"]).graphs
    assert found.digest == replace(expected, graph_names=None).digest


def test_a_split_is_made_where_none_is_named(tmp_path: Path) -> None:
    path, out = table(tmp_path), tmp_path / "own.safetensors"
    first = pack_table(path, out, label_columns=["y"], split_sizes="50,25,25")
    assert [len(ids) for ids in vars(first.folds[0]).values()] == [6, 2, 2]
    other = pack_table(path, out, label_columns=["y"], split_sizes="50,25,25", split_seed=1)
    assert other.folds[0].digest != first.folds[0].digest


BAD = ("c1cc,1,train", "CC,much,train", "CC,1,train,9")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (BAD[0], "own.csv:12: .*c1cc"),
        (BAD[1], "label 'much' in column 'y' is not a"),
        (BAD[2], "4 fields"),
    ],
)
def test_a_bad_row_is_told_with_its_line(row: str, said: str, tmp_path: Path) -> None:
    path, out = table(tmp_path, row), tmp_path / "own.safetensors"
    with pytest.raises(DataError, match=said):
        pack_table(path, out, label_columns=["y"])
    assert [p.name for p in tmp_path.iterdir()] == ["own.csv"]


def test_bad_rows_are_left_out_on_request(tmp_path: Path) -> None:
    path, out = table(tmp_path, *BAD, "CCC,3,test"), tmp_path / "own.safetensors"
    made = pack_table(path, out, label_columns=["y"], split_column="part", skip_bad_rows=True)
    expected = load_table(path, label_columns=["y"], split_column="part", skip_bad_rows=True)
    assert made.graphs.digest == replace(expected.graphs, graph_names=None).digest
    assert made.folds[0].digest == expected.folds[0].digest
    assert made.about[0].endswith("own.csv: 14 rows, 3 left out")
    assert sum(line.startswith("left out: ") for line in made.about) == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"label_columns": ["z"]}, "unknown column 'z'"),
        ({"split_column": "party"}, "did you mean 'part'"),
        ({"split_column": "part", "split_seed": 3}, "leave out its seed and sizes"),
        ({"label_columns": ["y"], "task": "binary"}, "is not 0, 1 or missing"),
        ({"split_column": "smiles"}, r"own\.csv:2.*train, valid"),
    ],
)
def test_what_cannot_be(options: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=said):
        pack_table(table(tmp_path), tmp_path / "own.safetensors", **options)
    assert not (tmp_path / "own.safetensors").exists()


def test_commas_and_points_in_different_parts_are_refused(tmp_path: Path) -> None:
    """12,345 would be read as 12.345, which nobody says in the part that it stands in."""
    path = tmp_path / "own.csv"
    rows = ["C;1,5", "CC;12,345", "CO;2,5", "CN;1234.5", "CF;3.5", "CS;4.5"]
    path.write_text("\n".join(["smiles;y", *rows]) + "\n")
    with pytest.raises(DataError, match=r"own\.csv:5 or after it: column 'y' has commas in some"):
        pack_table(path, tmp_path / "own.safetensors", label_columns=["y"])
    path.write_text("\n".join(["smiles;y", *rows[:3]]) + "\n")
    made = pack_table(path, tmp_path / "own.safetensors", label_columns=["y"])
    assert made.graphs.y is not None
    assert made.graphs.y[:, 0].tolist() == pytest.approx([1.5, 12.345, 2.5])


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot write"):
        pack_table(table(tmp_path), tmp_path / "file" / "own.safetensors", label_columns=["y"])


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(PackedParts, "_write", full)
    with pytest.raises(DataError, match=r"cannot write .*own\.safetensors.*No space left"):
        pack_table(table(tmp_path), tmp_path / "own.safetensors", label_columns=["y"])
    assert [p.name for p in tmp_path.iterdir()] == ["own.csv"]


def test_a_table_of_which_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("smiles\nc1cc\n")
    with pytest.raises(DataError, match="no usable row"):
        pack_table(tmp_path / "a.csv", tmp_path / "a.safetensors", skip_bad_rows=True)
