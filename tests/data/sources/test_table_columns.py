from __future__ import annotations

import math
from pathlib import Path

import pytest

from gmpool.data.sources.table_columns import LabelColumns, Table, row_labels, stem
from gmpool.errors import DataError


def read(tmp_path: Path, text: str) -> Table:
    path = tmp_path / "t.csv"
    path.write_text(text)
    return Table.read(path)


def test_rows_know_their_lines(tmp_path: Path) -> None:
    table = read(tmp_path, 'smiles, y\nC,1\n\n"C\nC",2\nC\n')
    assert table.header == ["smiles", "y"]
    assert (table.lines, table.column(1)) == ([2, 5], ["1", "2"])
    assert table.bad == [(6, "1 fields, expected 2")]


def test_which_column_is_what(tmp_path: Path) -> None:
    table = read(tmp_path, "id,SMILES,mol_id,a,b,split,note\n1,C,1,0.5,,train,x\n2,C,2,1,2,test,\n")
    assert (table.find_smiles(None), table.find_smiles("note")) == (1, 6)
    assert table.find_split(None) == 5
    assert table.find_labels(None, {1, 5}, None) == LabelColumns((3, 4), False)
    assert table.find_labels(["note"], {1, 5}, None) == LabelColumns((6,), True)
    assert table.find_labels((), {1, 5}, None) == LabelColumns((), False)
    assert read(tmp_path, "smiles,split\nC,7\n").find_split(None) is None
    with pytest.raises(DataError, match="unknown column 'smile'"):
        table.find_smiles("smile")


def test_the_labels_of_a_row() -> None:
    labels, header = LabelColumns((0, 1), False), ["a", "b"]
    first, second = row_labels(["1.5", " "], labels, None, header)
    assert first == 1.5
    assert math.isnan(second)
    for task, cells, message in (
        (None, ["x", "1"], "label 'x' in column 'a' is not a number"),
        ("binary", ["0", "2"], "label '2' in column 'b' is not 0, 1 or empty"),
        ("multiclass", ["0", "1.5"], "label '1.5' in column 'b' is not a class number"),
    ):
        with pytest.raises(ValueError, match=message):
            row_labels(cells, labels, task, header)


def test_the_stem_is_the_name_without_its_endings() -> None:
    for name in ("a.b.csv", "a.b.tsv.gz", "a.b.csv.xz"):
        assert stem(Path("x") / name) == "a.b"
