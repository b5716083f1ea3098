from __future__ import annotations

import gzip
import logging
import lzma
import math
from pathlib import Path

import pytest

from gmpool.data import read_csv
from gmpool.errors import DataError, UserError


def table(folder: Path, text: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_binary_with_gaps_and_a_split(tmp_path: Path) -> None:
    text = (
        "id,SMILES,toxic,active,split\n1,CC,0,,train\n2,O,1,1,val\n3,CCO,1,0,test\n4,N,0,0,train\n"
    )
    graphs, split, skipped = read_csv(table(tmp_path, text))
    assert graphs.name == "t"
    assert graphs.task == "binary"
    assert graphs.task_names == ("toxic", "active")
    assert math.isnan(graphs.y[0, 1])
    assert graphs.graph_names == ("CC", "O", "CCO", "N")
    assert split is not None
    assert [p.tolist() for p in (split.train, split.valid, split.test)] == [[0, 3], [1], [2]]
    assert skipped == []


@pytest.mark.parametrize(
    ("values", "task", "classes"),
    [
        (("0", "1", "1"), "binary", ()),
        (("0", "", "1.0"), "binary", ()),
        (("0", "1", "2"), "multiclass", ("0", "1", "2")),
        (("1", "3", "2"), "multiclass", ("1", "2", "3")),
        (("0.5", "1", ""), "regression", ()),
        (("0", "1", "7"), "regression", ()),
        (("red", "blue", "red"), "multiclass", ("blue", "red")),
    ],
)
def test_the_task_is_inferred(
    tmp_path: Path, values: tuple[str, ...], task: str, classes: tuple[str, ...]
) -> None:
    text = "smiles,y\n" + "".join(f"C,{v}\n" for v in values)
    graphs = read_csv(table(tmp_path, text))[0].validate()
    assert graphs.task == task
    assert graphs.class_names == classes


def test_the_user_may_say_everything(tmp_path: Path) -> None:
    text = "mol,a,b,part\nC,0,x,train\nCC,7,y,test\n"
    path = table(tmp_path, text)
    graphs, split, _ = read_csv(
        path, smiles_column="mol", label_columns=["a"], task="multiclass", split_column="part"
    )
    assert graphs.class_names == ("0", "7")
    assert split is not None
    assert split.test.tolist() == [1]
    assert read_csv(path, "mol", ["a"], "regression")[0].y.tolist() == [[0.0], [7.0]]
    assert read_csv(path, "mol", ["b"])[0].class_names == ("x", "y")
    assert read_csv(path, "mol", ())[0].y is None
    with pytest.raises(UserError, match="unknown task 'clasify'"):
        read_csv(path, "mol", task="clasify")  # type: ignore[arg-type]


def test_unused_text_columns_are_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = table(tmp_path, "smiles,note,y\nC,hello,0.5\nCC,there,1.5\n")
    with caplog.at_level(logging.WARNING):
        assert read_csv(path)[0].task_names == ("y",)
    assert "columns not used: note" in caplog.text


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.xz", "t.tsv", "t.tsv.gz"])
def test_other_files(tmp_path: Path, name: str) -> None:
    text = "smiles,y\nC,0.5\n"
    data = (text.replace(",", "\t") if ".tsv" in name else text).encode()
    pack = {".gz": gzip.compress, ".xz": lzma.compress}.get(Path(name).suffix, bytes)
    (tmp_path / name).write_bytes(pack(data))
    graphs = read_csv(tmp_path / name)[0]
    assert graphs.name == "t"
    assert graphs.y.tolist() == [[0.5]]


BAD = "smiles,y\nCC,1.5\nC(C,2.5\nCCO,much\nO,1,2\nN,0.25\n"


def test_bad_rows_are_listed(tmp_path: Path) -> None:
    path = table(tmp_path, BAD)
    with pytest.raises(DataError) as caught:
        read_csv(path)
    text = str(caught.value)
    assert text.startswith("3 of 5 rows cannot be used:")
    assert f"{path}:3: cannot parse SMILES 'C(C'" in text
    assert f"{path}:4: label 'much' in column 'y' is not a number" in text
    assert f"{path}:5: 3 fields, expected 2" in text
    assert "--skip-bad-rows" in text


def test_bad_rows_can_be_left_out(tmp_path: Path) -> None:
    graphs, _, skipped = read_csv(table(tmp_path, BAD), skip_bad_rows=True)
    assert graphs.graph_names == ("CC", "N")
    assert graphs.y.tolist() == [[1.5], [0.25]]
    assert len(skipped) == 3
    only_bad = table(tmp_path, "smiles,y\nC(C,1\n")
    with pytest.raises(DataError, match="no usable row; the first problem is"):
        read_csv(only_bad, skip_bad_rows=True)


def test_many_bad_rows_are_counted(tmp_path: Path) -> None:
    path = table(tmp_path, "smiles,y\n" + "C(,1\n" * 12)
    with pytest.raises(DataError, match=r"12 of 12 rows(?s:.*)and 7 more"):
        read_csv(path)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, r"t\.csv: the file is empty"),
        ("smiles,y\n", {}, "there is a header but no row below it"),
        ("smiles,y,y\nC,1,2\n", {}, "column name 'y' appears more than once"),
        ("mol,y\nC,1\n", {}, r"no column is called 'smiles'.*\(columns: mol, y\)"),
        ("smiles,y\nC,1\n", {"label_columns": ["z"]}, r"t\.csv: unknown column 'z'"),
        ("smiles,y\nC,1\n", {"smiles_column": "smile"}, "did you mean 'smiles'"),
        ("smiles,a,b\nC,x,y\n", {}, "cannot tell which columns are labels"),
        ("smiles\nC\n", {}, "cannot tell which columns are labels"),
        ("smiles,y\nC,2\n", {"task": "binary"}, "label '2' in column 'y' is not 0, 1 or empty"),
        (
            "smiles,y\nC,\n",
            {"task": "multiclass", "label_columns": ["y"]},
            "no class in column 'y'",
        ),
        ("smiles,y\nC,red\nC,\n", {}, "no class in column 'y'"),
        ("smiles,y\nC,1\nC,x\nC,2\n", {"task": "multiclass"}, "label 'x' in column 'y'"),
        ('smiles,y\n"C,1\n', {}, "cannot be read as a table"),
        ("smiles,y,s\nC,1,train\nC,1,tset\n", {"split_column": "s"}, r"t\.csv:3: split 'tset'"),
    ],
)
def test_errors(tmp_path: Path, text: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_csv(table(tmp_path, text), **options)  # type: ignore[arg-type]


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_csv(tmp_path / "none.csv")
    for name, data in (("a.csv", b"\xff\xfe\x00"), ("a.csv.gz", b"text"), ("a.csv.xz", b"text")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(DataError, match="cannot be read as a table"):
            read_csv(tmp_path / name)
