from __future__ import annotations

from pathlib import Path

import pytest

from gmpool.data.sources.table_columns import Table, quoted, shown
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


@pytest.mark.parametrize(
    ("header", "at"),
    [
        ("id,SMILES,mol", 1),
        ("Smiles,canonical_smiles,x", 0),
        ("id,y,Canonical SMILES", 2),
        ("id,y,mol", 2),
        ("structure,y,z", 0),
    ],
)
def test_the_molecules_are_found_by_name(tmp_path: Path, header: str, at: int) -> None:
    table = read(tmp_path, f"{header}\n1,C,1\n")
    assert table.find_smiles(None) == at
    assert table.find_smiles(header.split(",")[2]) == 2


@pytest.mark.parametrize(("header", "what"), [("a,b", "no column is"), ("mol,smi", "several")])
def test_molecules_that_are_not_found(tmp_path: Path, header: str, what: str) -> None:
    table = read(tmp_path, f"{header}\n1,C\n")
    with pytest.raises(DataError, match=rf"{what}.*--smiles-column \(columns: '"):
        table.find_smiles(None)
    with pytest.raises(DataError, match=r"t\.csv: unknown column 'c'"):
        table.find_smiles("c")


@pytest.mark.parametrize(
    ("text", "name", "at"),
    [
        ("smiles,split\nC,train\nC,Test\n", None, 1),
        ("smiles,Split\nC,train\nC,odd\n", None, 1),  # whose line is then named
        ("smiles,set\nC,train\nC,dev\n", None, 1),
        ("smiles,set\nC,train\nC,\n", None, None),
        ("smiles,set\nC,test\nC,test\n", None, None),
        ("smiles,split\nC,train\nC,test\n", "none", None),
        ("smiles,a,b\nC,train,test\nC,test,train\n", "b", 2),
    ],
)
def test_the_split_is_found_by_its_words(
    tmp_path: Path, text: str, name: str | None, at: int | None
) -> None:
    assert read(tmp_path, text).find_split(name) == at


def test_a_split_is_not_chosen_among_two_nor_guessed_from_numbers(tmp_path: Path) -> None:
    two = read(tmp_path, "smiles,a,b\nC,train,test\nC,test,train\n")
    with pytest.raises(DataError, match="several columns name parts of a split: 'a', 'b'"):
        two.find_split(None)
    numbers = read(tmp_path, "smiles,split\nC,0\nC,1\n")
    with pytest.raises(DataError, match=r"as folds give --split-column split, .* none"):
        numbers.find_split(None)


def test_what_a_file_says_is_shown_escaped_and_short() -> None:
    assert shown("\x1b[31m") == "'\\x1b[31m'"
    assert shown("x" * 1000) == f"'{'x' * 60}'…"
    assert quoted([("a", ""), ("b", "why")]) == "'a', 'b' (why)"
    assert quoted([("a", "")] * 10).endswith("'a' and 2 more")
