from __future__ import annotations

import csv
import gzip
import io
import lzma
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gmpool.data.sources.table_text import ending, text_form, text_rows
from gmpool.errors import DataError

ENCODINGS = {"utf-8": "", "utf-8-sig": "", "utf-16": "UTF-16", "latin-1": "Latin-1"}
PLAIN = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=8)
ANY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
NAMES = st.lists(
    st.text(st.sampled_from("abcXYZ019 _-"), min_size=1, max_size=6), min_size=1, max_size=4
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[str]], str, str]:
    header = draw(NAMES)
    encoding = draw(st.sampled_from(list(ENCODINGS)))
    # In Latin-1 these bytes begin a letter of UTF-8 that then does not go on.
    latin = st.text(st.sampled_from('Cc1,;\t\n"éüß'), max_size=8)
    cell = latin if encoding == "latin-1" else ANY | PLAIN
    row = st.lists(cell, min_size=len(header), max_size=len(header))
    rows = draw(st.lists(row, max_size=6))
    separator = draw(st.sampled_from(",;\t" if len(header) > 1 else ","))
    return [header, *rows], separator, encoding


@given(tables(), st.sampled_from(["", ".gz", ".xz"]), st.booleans())
def test_a_table_in_any_dialect_reads_back_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    written: tuple[list[list[str]], str, str],
    packing: str,
    quoted: bool,
) -> None:
    rows, separator, encoding = written
    text = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL
    csv.writer(text, delimiter=separator, quoting=quoting).writerows(rows)
    pack = {".gz": gzip.compress, ".xz": lzma.compress}.get(packing, bytes)
    path = tmp_path_factory.mktemp("any", numbered=True) / f"t.csv{packing}"
    path.write_bytes(pack(text.getvalue().encode(encoding)))
    form = text_form(path)
    assert form.separator == separator
    assert [cells for _, cells in text_rows(path, form)] == rows


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("t.csv", "smiles,y\nC,1\n", "separated by ','"),
        ("t.csv", "smiles;y\nC;1,5\n", "separated by ';', decimal comma"),
        ("t.csv", "smiles;y\nC;1.5\n", "separated by ';'"),
        ("t.csv", "smiles;y, mg/l\nC;1,5\nC;2\n", "separated by ';', decimal comma"),
        ("t.csv", "smiles,a;b,y\nC,1;2,3\nC,1,4\n", "separated by ','"),
        ("t.csv", "smiles\nC;C\nC\tC\n", "separated by ','"),
        ("t.tsv", "smiles\nC,C\n", "separated by tabs"),
        ("t.tsv", "smiles\ty,z\nC\t1\n", "separated by tabs"),
        ("t.tsv", "smiles,y\nC,1\n", "separated by ','"),
        ("t.txt", '"smiles, first"\ty\n"C\nC"\t1\n', "separated by tabs"),
        ("t.smi", "CC ethane\n", "a SMILES and a name per line"),
        ("t.csv", "", "separated by ','"),
    ],
)
def test_the_form_is_recognised(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    assert text_form(tmp_path / name).words == words


@pytest.mark.parametrize(("encoding", "word"), ENCODINGS.items())
def test_the_encoding_is_said(tmp_path: Path, encoding: str, word: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("smiles,höhe\nC,1\n".encode(encoding))
    assert word in text_form(path).words
    assert next(text_rows(path, text_form(path))) == (1, ["smiles", "höhe"])


def test_rows_are_numbered_by_the_line_on_which_they_end(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a,b\n\n1,2\n"x\ny",3\n')
    assert list(text_rows(path, text_form(path))) == [
        (1, ["a", "b"]),
        (3, ["1", "2"]),
        (5, ["x\ny", "3"]),
    ]


def test_lines_of_smiles_have_names_or_none(tmp_path: Path) -> None:
    path = tmp_path / "t.smi"
    path.write_text("CC ethane or so\n\nO\n  N\tammonia\n")
    wanted = [["smiles", "name"], ["CC", "ethane or so"], ["O", ""], ["N", "ammonia"]]
    assert [cells for _, cells in text_rows(path, text_form(path))] == wanted
    path.write_text("SMILES Name\nCC ethane\n")
    assert list(text_rows(path, text_form(path)))[1:] == [(2, ["CC", "ethane"])]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"smiles,y\nC,1\nC,\0\n", r"t\.csv:3: a NUL character"),
        (b"\xff\xfe\x00", "cannot be read as a table"),
        ("smiles,y\nC,é\nC,".encode() + b"\xff\n", r"t\.csv:3: the file begins in UTF-8"),
        ("smiles,é\nC,é".encode()[:-1], r"t\.csv:2: the file begins in UTF-8"),
        (b"smiles,y\nC," + b"1" * 12_000_000, r"t\.csv:2: a line of more than 10,000,000"),
    ],
)
def test_what_no_table_contains_is_found_before_any_row(
    tmp_path: Path, data: bytes, message: str
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    with pytest.raises(DataError, match=message):
        text_form(path)


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.xz"])
def test_damaged_and_cut_files(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    pack = gzip.compress if name.endswith("gz") else lzma.compress
    whole = pack(b"smiles,y\n" + b"".join(b"C,%d\n" % (i * i) for i in range(3000)))
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0x55
    for data in (b"text", whole[: len(whole) // 2], bytes(flipped)):
        path.write_bytes(data)
        with pytest.raises(DataError, match="cannot be read as a table"):
            text_form(path)


def test_a_quotation_mark_or_a_huge_field_is_placed(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for wrong in ('"C,1\nC,2\n', f"C,{'1' * 200_000}\n"):
        path.write_text(f"smiles,y\nC,1\n{wrong}")
        with pytest.raises(DataError, match=r"t\.csv:3: cannot be read as a table"):
            list(text_rows(path, text_form(path)))


def test_the_ending_is_the_one_before_the_compression() -> None:
    assert [ending(Path(p)) for p in ("a.csv", "a.TSV", "a.b.smi.gz")] == [".csv", ".tsv", ".smi"]
