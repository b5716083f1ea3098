"""Rows as bytes: whatever a cell says, it is read again."""

from __future__ import annotations

import csv
import gzip
import io
import lzma
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gmpool.cli.row_text import TEXT_ENDINGS, RowText
from gmpool.spreadsheet import safe_cell

UNPACKED: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.decompress, ".xz": lzma.decompress}
CELLS = st.one_of(st.text(), st.text(alphabet="a,;\t\r\n\"'=+-@\0\x1b|\u2028 "))
ROWS = st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=4)


def read(made: bytes, separator: str = ",") -> list[list[str]]:
    text = io.StringIO(made.decode(), newline="")
    return list(csv.reader(text, delimiter=separator, strict=True))


@given(rows=ROWS, ending=st.sampled_from(TEXT_ENDINGS))
@example([["a\rb", "x"], ["\r", "y"]], ".csv")
@example([["a\r\nb", "\n"]], ".tsv")
@example([["", ""], ['"', '""']], ".csv")
def test_rows_are_read_as_they_were_written(rows: list[list[str]], ending: str) -> None:
    made, changed = RowText(f"new{ending}")(rows)
    unpacked = UNPACKED.get(ending[4:], bytes)(made)
    expected = [[safe_cell(cell) for cell in row] for row in rows]
    assert read(unpacked, "\t" if ".tsv" in ending else ",") == expected
    assert changed == sum(safe_cell(cell) != cell for row in rows for cell in row)


@given(rows=ROWS, at=st.integers(0, 4), ending=st.sampled_from(TEXT_ENDINGS))
def test_pieces_behind_each_other_are_the_whole(
    rows: list[list[str]], at: int, ending: str
) -> None:
    text, unpacked = RowText(f"new{ending}"), UNPACKED.get(ending[4:], bytes)
    pieces = text(rows[:at])[0] + text(rows[at:])[0]
    assert unpacked(pieces) == unpacked(text(rows)[0])
    assert pieces == text(rows[:at])[0] + text(rows[at:])[0], "the same bytes at any time"


def test_rows_end_as_lines_of_unix_do() -> None:
    assert RowText()([["a", "b\r\n"], ["c", "d"]]) == (b'a,"b\r\n"\nc,d\n', 0)


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.123456789, "0.123457"), (1e-9, "1e-09"), (-1.5, "-1.5"), (None, ""), (3.0, "3")],
)
def test_numbers_have_six_digits(value: Any, written: str) -> None:
    assert RowText()([[value, "x"]])[0].decode() == f"{written},x\n"


def test_a_terminal_is_sent_what_can_be_seen() -> None:
    rows = [["\x1b[2Ja", "=\x1b"]]
    assert RowText(shown=True)(rows)[0] == b"\\x1b[2Ja,=\\x1b\n"
    assert RowText()(rows)[0] == b"\x1b[2Ja,=\x1b\n"
