from __future__ import annotations

import datetime
import math
import sys
import time
from pathlib import Path

import pandas
import pyarrow
import pyarrow.parquet
import pytest

from gmpool.data.sources.table_cells import Line, is_missing, open_cells, stem
from gmpool.errors import DataError, MissingPackage


def test_rows_come_with_their_lines_and_what_is_wrong_with_them(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(' smiles ,"IC50\n(nM)",\nC,1,\n  \nC\nN,,,\nO,,\n')
    with open_cells(path) as cells:
        assert (cells.path, cells.form) == (str(path), "separated by ','")
        assert cells.header == ["smiles", "IC50 (nM)", ""]
        assert list(cells) == [
            Line(3, ["C", "1", ""], None),
            Line(5, ["C"], "1 fields, expected 3"),
            Line(6, ["N", "", "", ""], "4 fields, expected 3"),
            Line(7, ["O", "", ""], None),
        ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"t\.csv: the file is empty"),
        (",,\nC,1,2\n", r"t\.csv:1: the file is empty"),
        ("\nsmiles,y,y\n", r"t\.csv:2: column name 'y' appears more than once"),
        ("smiles,\x1b[31mred\n", r"t\.csv:1: column name '\\x1b\[31mred' contains control"),
        ("smiles,\x9bm\n", r"column name '\\x9bm' contains control"),
        (f"smiles,{'x' * 600}\n", r"t\.csv:1: column name 'x+… has 600 letters, more than 500"),
    ],
)
def test_headers_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        open_cells(path)


def test_a_very_wide_header_is_checked_at_once(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(",".join(f"c{i}" for i in range(200_000)) + ",c7\n")
    start = time.perf_counter()
    with pytest.raises(DataError, match="column name 'c7' appears more than once"):
        open_cells(path)
    assert time.perf_counter() - start < 5  # looking each name up in the others takes minutes


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        open_cells(tmp_path / "none.csv")
    with pytest.raises(DataError, match="not a file"):
        open_cells(tmp_path)


VALUES = {
    "smiles": ["C", "CC", None],
    "whole": [1, 2**62 + 1, -3],
    "real": [0.1, math.nan, 1e-300],
    "yes": [True, False, None],
    "day": [datetime.date(2020, 1, 2), None, None],
    "raw": [b"x", b"\xc3\xa9", None],
}
TEXTS = [
    ["C", "1", "0.1", "True", "2020-01-02", "x"],
    ["CC", str(2**62 + 1), "nan", "False", "", "é"],
    ["", "-3", "1e-300", "", "", ""],
]


def test_parquet_columns_become_text_without_loss(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.table(VALUES), path)
    with open_cells(path) as cells:
        assert (cells.header, cells.form) == (list(VALUES), "Parquet")
        assert list(cells) == [Line(i + 1, row, None) for i, row in enumerate(TEXTS)]


def test_parquet_is_read_in_pieces_numbered_through(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"n": list(range(10_000))}), path)
    with open_cells(path) as cells:
        assert all(line.cells == [str(line.number - 1)] for line in cells)


def test_damaged_parquet(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"smiles": ["C" * 50] * 500}), path)
    whole = path.read_bytes()
    for data in (b"", b"PAR1", whole[:-30], whole[:4] + bytes(60) + whole[64:]):
        path.write_bytes(data)
        with pytest.raises(DataError, match=r"t\.parquet: .*cannot be read"), open_cells(path) as c:
            list(c)


def test_parquet_needs_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingPackage, match=r"gmpool\[parquet\]"):
        open_cells(path)


def test_data_frames() -> None:
    frame = pandas.DataFrame(
        {"smiles": ["C", None], 7: [0.1, None], "n": pandas.array([3, None], "Int64")}
    )
    with open_cells(frame) as cells:
        assert (cells.path, cells.form) == ("DataFrame", "DataFrame")
        assert cells.header == ["smiles", "7", "n"]
        first, second = cells
    assert first == Line(0, ["C", "0.1", "3"], None)
    assert all(map(is_missing, second.cells))


def test_words_for_no_value() -> None:
    words = ("", " ", "NaN", "nan", "NA", "N/A", "n/a", "null", "None", "-", "?", "<NA>")
    assert all(map(is_missing, words))
    assert not any(map(is_missing, ("0", "none", "no", "--", "-1", "Na")))


def test_the_stem_is_the_name_without_its_endings() -> None:
    for name in ("a.b.csv", "a.b.tsv.gz", "a.b.csv.xz"):
        assert stem(Path("x") / name) == "a.b"
    assert stem(pandas.DataFrame()) == "table"
