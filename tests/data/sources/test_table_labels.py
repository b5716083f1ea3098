from __future__ import annotations

from pathlib import Path

import pytest

from gmpool.data.packed_fields import Task
from gmpool.data.sources.table_columns import Table
from gmpool.data.sources.table_labels import Labels, find_labels, wrong_labels
from gmpool.errors import DataError

ANSWERS = [0, 1, 1, 0, 0, 1]
REALS = [180.2, 46.1, 78.1, 94.1, 100.5, 78.1]
COLUMNS: dict[str, list[object]] = {
    "active": ANSWERS,
    "toxic": [1, "", 1, 0, "NA", 0],
    "MW": REALS,
    "logP": [0.5, 1.5, -0.5, 2.0, 0.1, 0.2],
    "compound_no": [5, 5, 5, 6, 6, 6],
    "count": [0, 1, 2, 3, 4, 5],
    "from_one": [6, 5, 4, 3, 2, 1],
    "key": [917, 23, 411, 88, 5, 60],
    "constant": [3] * 6,
    "empty": ["", "NaN", "-", "?", "null", "n/a"],
    "fold": [0, 1, 2, 0, 1, 2],
    "kind": ["a", "b", "b", "a", "c", "c"],
    "note": ["p", "q", "r", "s", "t", "u"],
    "part": ["train", "train", "test", "train", "", "test"],
    "shape": [0, 1, 2, 2, 1, 0],
    "Unnamed: 0": [7, 7, 8, 8, 9, 9],
    "": [7, 7, 8, 8, 9, 9],
}


def table(folder: Path, *names: str) -> Table:
    """The columns, behind one of molecules."""
    rows = zip(*(COLUMNS[name] for name in names), strict=True)
    lines = [",".join(map(str, ("C", *row))) for row in rows]
    (folder / "t.csv").write_text("\n".join([",".join(("smiles", *names)), *lines]) + "\n")
    return Table.read(folder / "t.csv")


def found(folder: Path, *names: str, task: Task | None = None) -> tuple[list[str], str]:
    read = table(folder, *names)
    labels = find_labels(read, None, {0}, task)
    return [read.header[at] for at in labels.columns], labels.unused


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("count", "counts the rows"),
        ("from_one", "counts the rows"),
        ("key", "a different whole number in every row"),
        ("compound_no", "called like an identifier"),
        ("Unnamed: 0", "called like an identifier"),
        ("constant", "the same value in every row"),
        ("empty", "no value in any row"),
        ("fold", "called like a split; use it with --split-column"),
        ("part", "names the parts of a split; use it with --split-column"),
        ("note", "a different word in every row"),
    ],
)
def test_what_only_looks_like_a_label_is_never_guessed(
    tmp_path: Path, name: str, reason: str
) -> None:
    assert found(tmp_path, name, "active") == (["active"], f"{name!r} ({reason})")
    with pytest.raises(DataError, match=r"cannot tell which columns are labels; .*--label") as info:
        found(tmp_path, name)
    assert f"{name!r} ({reason})" in str(info.value)


def test_the_index_of_a_data_frame_is_no_label(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(",smiles,active\n0,C,1\n0,CC,0\n5,CO,1\n")
    read = Table.read(path)
    labels = find_labels(read, None, {1}, None)
    assert (labels.columns, labels.unused) == (
        (2,),
        "'' (no name, like the index of a data frame)",
    )


@pytest.mark.parametrize(
    "names", [["active"], ["active", "toxic"], ["MW"], ["MW", "logP"], ["shape"], ["kind"]]
)
def test_labels_of_one_kind_are_taken(tmp_path: Path, names: list[str]) -> None:
    assert found(tmp_path, *names) == (names, "")


@pytest.mark.parametrize(
    "names",
    [["active", "MW"], ["active", "shape"], ["kind", "MW"], ["kind", "active"], ["MW", "shape"]],
)
def test_labels_of_several_kinds_are_an_error_that_names_them(
    tmp_path: Path, names: list[str]
) -> None:
    with pytest.raises(DataError, match=r"labels of one kind: .*with --label") as caught:
        found(tmp_path, *names)
    assert all(repr(name) in str(caught.value) for name in names)


def test_the_task_decides_among_kinds(tmp_path: Path) -> None:
    other = "other than the labels"
    assert found(tmp_path, "active", "MW", task="binary") == (
        ["active"],
        f"'MW' (regression, {other})",
    )
    assert found(tmp_path, "active", "MW", task="regression")[0] == ["MW"]
    assert found(tmp_path, "kind", "MW", task="multiclass")[0] == ["kind"]
    assert found(tmp_path, "shape", "active", task="regression")[0] == ["shape", "active"]


def test_names_decide(tmp_path: Path) -> None:
    read = table(tmp_path, "count", "kind", "active", "MW", "empty")
    assert find_labels(read, ["count"], {0}, None) == Labels(
        (1,), False, "'kind', 'active', 'MW', 'empty'"
    )
    assert find_labels(read, ["kind"], {0}, None)[:2] == ((2,), True)
    assert find_labels(read, ["MW", "count", "MW"], {0}, None)[:2] == ((4, 1), False)
    assert find_labels(read, (), {0}, None).columns == ()
    for names, message in (
        (["smiles"], "'smiles' cannot be a label"),
        (["empty"], "'empty' has no value"),
        (["active", "MW"], r"of several: 'active' \(binary\), 'MW' \(regression\)"),
        (["Active"], "unknown column 'Active'; did you mean 'active'"),
    ):
        with pytest.raises(DataError, match=message):
            find_labels(read, names, {0}, None)
    assert find_labels(read, ["active", "MW"], {0}, "regression").columns == (3, 4)


def test_wrong_labels_are_found_by_row_with_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("smiles,a,b,w\nC,x,1,r\nC,2,1e39,\nC,,0.5,s\x1b\nC,1,0,r\n")
    read = Table.read(path)
    numbers = Labels((1, 2))
    assert wrong_labels(read, numbers, None) == {
        0: ["label 'x' in column 'a' is not a number"],
        1: ["label '1e39' in column 'b' is too large: numbers end at 3.4e38"],
    }
    binary = wrong_labels(read, numbers, "binary")
    assert binary[1][0] == "label '2' in column 'a' is not 0, 1 or empty"
    assert binary[2] == ["label '0.5' in column 'b' is not 0, 1 or empty"]
    assert wrong_labels(read, Labels((2,)), "multiclass")[2][0].endswith("is not a class number")
    assert wrong_labels(read, Labels((3,), words=True), None) == {
        1: ["label '' in column 'w' is no class"],
        2: ["label 's\\x1b' in column 'w' contains what cannot be printed"],
    }
