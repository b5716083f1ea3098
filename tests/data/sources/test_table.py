from __future__ import annotations

import gzip
import lzma
import math
from pathlib import Path

import pandas
import pytest

from gmpool.data import Dataset, load, load_table, read_csv
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
        (("0", "1", "2", "1"), "multiclass", ("0", "1", "2")),
        (("1", "3", "2", "1"), "multiclass", ("1", "2", "3")),
        (("0.5", "1", ""), "regression", ()),
        (("0", "1", "7", "7"), "regression", ()),
        (("nan", "0.5", "NA", "-"), "regression", ()),
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
    path = table(tmp_path, "smiles,y\n" + "C(,1\nC),0\n" * 6)
    with pytest.raises(DataError, match=r"12 of 12 rows(?s:.*)and 7 more"):
        read_csv(path)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, r"t\.csv: the file is empty"),
        ("smiles,y\n", {}, "there is a header but no row below it"),
        ("smiles,y,y\nC,1,2\n", {}, "column name 'y' appears more than once"),
        ("drug,y\nC,1\n", {}, r"no column is called 'smiles'.*\(columns: 'drug', 'y'\)"),
        ("smiles,y\nC,1\n", {"label_columns": ["z"]}, r"t\.csv: unknown column 'z'"),
        ("smiles,y\nC,1\n", {"smiles_column": "smile"}, "did you mean 'smiles'"),
        ("smiles,a,b\nC,x,\nC,x,\n", {}, "cannot tell which columns are labels"),
        ("smiles\nC\n", {}, "cannot tell which columns are labels"),
        ("smiles,y\nC,2\n", {"task": "binary"}, "label '2' in column 'y' is not 0, 1 or empty"),
        (
            "smiles,y\nC,\nC,3\n",
            {"task": "multiclass", "label_columns": ["y"]},
            "label '' in column 'y' is not a class number",
        ),
        ("smiles,y\nC,red\nC,\n", {}, "label '' in column 'y' is no class"),
        ("smiles,y\nC,1\nC,x\nC,2\n", {"task": "multiclass"}, "label 'x' in column 'y'"),
        ('smiles,y\n"C,1\n', {}, "cannot be read as a table"),
        ("smiles,y,s\nC,1,train\nC,0,tset\n", {"split_column": "s"}, r"t\.csv:3: split 'tset'"),
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


MOLECULES = ("C", "CC", "CCO", "N", "O", "CCN", "c1ccccc1", "CCCC", "CN", "OO", "CCl", "CBr")


def rows(*columns: list[object]) -> str:
    return "".join(",".join(map(str, row)) + "\n" for row in zip(MOLECULES, *columns, strict=False))


def of(folder: Path, header: str, *columns: list[object], **options: object) -> Dataset:
    return load_table(table(folder, f"{header}\n{rows(*columns)}"), **options)


def test_a_table_that_a_european_spreadsheet_wrote(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("Nr.;SMILES; Löslichkeit \n1;C;1,5\n2;CC;NA\n3;O;-2,25\n".encode("latin-1"))
    data = load_table(path)
    assert data.graphs.task_names == ("Löslichkeit",)
    assert data.graphs.y[[0, 2], 0].tolist() == [1.5, -2.25]
    first, second, unused, labels = data.understood[:4]
    assert first == f"{path}: separated by ';', decimal comma, Latin-1, as it is not UTF-8, 3 rows"
    assert second == "molecules: column 'SMILES'"
    assert unused == "not used: 'Nr.' (called like an identifier)"
    assert labels == "labels: 'Löslichkeit' (regression: -2.25 to 1.5, 1 gap)"


def test_a_file_of_smiles_and_names_has_no_labels(tmp_path: Path) -> None:
    path = table(tmp_path, "C methane\nCC ethane\nCCC\n", "t.smi")
    assert read_csv(path, label_columns=())[0].graph_names == ("C", "CC", "CCC")
    with pytest.raises(DataError, match="cannot tell which columns are labels"):
        load(path)


def test_a_data_frame_and_its_parquet_are_read_like_the_csv(tmp_path: Path) -> None:
    columns = {"smiles": MOLECULES, "y": [i * 0.25 for i in range(12)], "n": list(range(12))}
    frame = pandas.DataFrame(columns)
    frame.to_csv(tmp_path / "table.csv")  # with its index, which is no label
    frame.to_parquet(tmp_path / "table.parquet")
    by_csv = load(tmp_path / "table.csv")
    assert by_csv.graphs.task_names == ("y",)
    assert load_table(frame).digest == load(tmp_path / "table.parquet").digest == by_csv.digest
    with pytest.raises(TypeError, match=r"got DataFrame.*load_table"):
        load(frame)


def test_labels_that_cannot_be_held_name_their_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"t\.csv:3: label '1e39' in column 'y' is too large"):
        of(tmp_path, "smiles,y", ["0.5", "1e39", "2.5"])


def test_a_bad_label_is_a_gap_where_that_is_asked_for(tmp_path: Path) -> None:
    bad = ["0", "1", "yes", "1", "C("]
    other = ["1", "1", "0", "0", "1"]
    with pytest.raises(DataError, match="or only the bad labels with --skip-bad-labels"):
        of(tmp_path, "smiles,a,b", bad, other)
    data = of(tmp_path, "smiles,a,b", bad, other, skip_bad_labels=True)
    assert len(data) == 5
    assert data.skipped == ()
    assert data.graphs.y.isnan().tolist() == [[False, False]] * 2 + [
        [True, False],
        [False, False],
        [True, False],
    ]
    dropped = [line for line in data.understood if line.startswith("label left out: ")]
    assert len(dropped) == 2
    assert "t.csv:4: label 'yes' in column 'a' is not a number" in dropped[0]
    rows_out = of(tmp_path, "smiles,a,b", bad, other, skip_bad_rows=True)
    assert (len(rows_out), len(rows_out.skipped)) == (3, 2)
    assert "5 rows, 2 left out" in rows_out.understood[0]
    binary = of(tmp_path, "smiles,a", ["0", "1", "7", "0"], task="binary", skip_bad_labels=True)
    assert binary.graphs.y[:, 0].isnan().tolist() == [False, False, True, False]
    with pytest.raises(DataError, match="is no class"):  # a class is needed, so the row goes
        of(tmp_path, "smiles,a", ["x", "y", "", "x"], skip_bad_labels=True)


def test_many_rows_left_out_are_counted_and_the_first_shown(tmp_path: Path) -> None:
    path = table(tmp_path, "smiles,y\n" + "C(,1\n" * 1200 + "C,1.5\nCC,2.5\nO,0.5\n")
    data = load_table(path, skip_bad_rows=True)
    assert data.understood[0].endswith("1,203 rows, 1,200 left out")
    shown = [line for line in data.understood if line.startswith("left out: ")]
    assert len(shown) == 6
    assert shown[-1] == "left out: 1,195 more rows"


ANSWERS = [i % 2 for i in range(12)]


def test_a_split_with_a_blank_or_unknown_cell_stops_at_its_line(tmp_path: Path) -> None:
    for word in ("", "tset"):
        parts = ["train"] * 8 + ["valid", "test", word, "test"]
        way_out = rf"t\.csv:12: split '{word}' is not one of .*--split-column none"
        with pytest.raises(DataError, match=way_out):
            of(tmp_path, "smiles,y,split", ANSWERS, parts)
    ignored = of(tmp_path, "smiles,y,split", ANSWERS, parts, split_column="none")
    told = "split: 10 train, 1 valid, 1 test (random 80/10/10, always the same, as asked)"
    assert told in ignored.understood


def test_a_split_by_any_name_is_used_and_told(tmp_path: Path) -> None:
    parts = ["train"] * 8 + ["dev", "VAL", "test", "test"]
    data = of(tmp_path, "smiles,y,set", ANSWERS, parts)
    assert data.folds[0].valid.tolist() == [8, 9]
    assert "split: 8 train, 2 valid, 2 test (column 'set')" in data.understood


def test_without_a_valid_part_a_tenth_of_train_is_taken(tmp_path: Path) -> None:
    parts = ["train"] * 10 + ["test", "test"]
    data = of(tmp_path, "smiles,y,split", ANSWERS, parts)
    (split,) = data.folds
    assert [len(split.train), len(split.valid), split.test.tolist()] == [9, 1, [10, 11]]
    assert sorted([*split.train.tolist(), *split.valid.tolist()]) == list(range(10))
    assert any("names no valid part: a tenth of train" in line for line in data.understood)
    again = of(tmp_path, "smiles,y,split", ANSWERS, parts)
    assert again.folds[0].digest == split.digest
    for wrong in (["train"] * 2 + ["test"] * 10, ["train"] * 12):
        with pytest.raises(DataError, match="--split-column none"):
            of(tmp_path, "smiles,y,split", ANSWERS, wrong, split_column="split")


def test_numbers_of_folds_are_used_where_they_are_named(tmp_path: Path) -> None:
    fold = [1 + i % 4 for i in range(12)]
    data = of(tmp_path, "smiles,y,fold", ANSWERS, fold, split_column="fold")
    assert [split.test.tolist() for split in data.folds] == [[i, i + 4, i + 8] for i in range(4)]
    assert data.folds[1].valid.tolist() == [0, 4, 8]
    assert "folds: 4 (column 'fold'); the first: 6 train, 3 valid, 3 test" in data.understood
    with pytest.raises(DataError, match=r"t\.csv:3: split '' is not one of the numbers"):
        of(tmp_path, "smiles,y,fold", ANSWERS, [1, "", *fold[2:]], split_column="fold")
    path = table(tmp_path, "smiles,y,fold\n" + rows(ANSWERS, fold))
    with pytest.raises(UserError, match="read them with load_table"):
        read_csv(path, split_column="fold")


def test_labels_beside_atom_types_are_read_and_said_to_be_unused(tmp_path: Path) -> None:
    data = of(tmp_path, "smiles,y", ANSWERS, atoms="types", label_columns=["y"])
    assert data.graphs.task == "binary"
    assert any("the labels are not learned" in line for line in data.understood)
