"""Tables in text files: how they are compressed, encoded and separated, and their rows."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from gmpool.errors import DataError

OPENERS: dict[str, Callable[..., IO[Any]]] = {".gz": gzip.open, ".xz": lzma.open}
LONGEST_LINE = 10_000_000
DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*")
_CHUNK = 1 << 20
_SAMPLE_ROWS = 50
_SAMPLE = 1 << 16
_ENCODINGS = {"utf-8-sig": "", "utf-16": "UTF-16", "latin-1": "Latin-1, as it is not UTF-8"}
_SEPARATORS = {"\t": "separated by tabs", ";": "separated by ';'", ",": "separated by ','"}
_BROKEN = (OSError, EOFError, UnicodeError, csv.Error, lzma.LZMAError, zlib.error)


class Form(NamedTuple):
    """How a text file holds its table."""

    encoding: str
    separator: str
    """A comma, semicolon or tab; or a space: a SMILES, and behind it the molecule's name."""
    decimal_comma: bool

    @property
    def words(self) -> str:
        parts = (
            _SEPARATORS.get(self.separator, "a SMILES and a name per line"),
            "decimal comma" * self.decimal_comma,
            _ENCODINGS[self.encoding],
        )
        return ", ".join(part for part in parts if part)


def ending(path: Path) -> str:
    """.csv of a file called x.csv.gz."""
    suffixes = path.suffixes
    return (suffixes[-2] if len(suffixes) > 1 and suffixes[-1] in OPENERS else path.suffix).lower()


def text_form(path: Path) -> Form:
    """Reads the whole file once, so that nothing damaged is found after some rows were used."""
    with _readable(path):
        encoding, sample = _survey(path)
    if ending(path) in (".smi", ".smiles"):
        return Form(encoding, " ", False)
    lines = list(io.StringIO(sample, newline=""))
    whole = lines[:-1] if len(sample) == _SAMPLE else lines
    return Form(encoding, *_separator(whole or lines, "\t;," if ending(path) != ".csv" else ";,\t"))


def text_rows(path: Path, form: Form) -> Iterator[tuple[int, list[str]]]:
    """(line on which it ends, cells) of each row that is not blank, the header first."""
    with _readable(path), _opener(path)(path, "rb") as file:
        text = io.TextIOWrapper(file, form.encoding, newline="")
        yield from _smiles_lines(text) if form.separator == " " else _csv_rows(path, text, form)


def _csv_rows(path: Path, text: io.TextIOWrapper, form: Form) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(text, delimiter=form.separator, strict=True)
    before = 0
    try:
        for cells in reader:
            before = reader.line_num
            if cells:
                yield before, cells
    except csv.Error as error:
        raise DataError(
            f"{path}:{before + 1}: cannot be read as a table ({error}); is there a quotation mark "
            "too many or too few?"
        ) from error


def _smiles_lines(text: io.TextIOWrapper) -> Iterator[tuple[int, list[str]]]:
    yield 0, ["smiles", "name"]
    for number, line in enumerate(text, start=1):
        words = line.split(maxsplit=1)
        titles = number == 1 and words and words[0].lower() == "smiles"
        if words and not titles:
            yield number, [words[0], words[1].strip() if len(words) > 1 else ""]


def _opener(path: Path) -> Callable[..., IO[Any]]:
    return OPENERS.get(path.suffix.lower(), open)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except _BROKEN as error:
        raise DataError(f"{path}: cannot be read as a table ({error})") from error


def _survey(path: Path) -> tuple[str, str]:
    """The encoding and the beginning; raises DataError for what no table contains."""
    with _opener(path)(path, "rb") as file:
        chunk = file.read(_CHUNK)
        wide = chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        encoding = "utf-16" if wide else "utf-8-sig"
        decoder = codecs.getincrementaldecoder(encoding)()
        sample, line, length, other = "", 1, 0, False  # other: letters beyond ASCII were seen
        while chunk or encoding != "latin-1":
            try:
                text = decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                if wide:
                    raise
                good = error.object[: error.start]
                if other or not good.removeprefix(codecs.BOM_UTF8).isascii():
                    line += good.count(b"\n")
                    raise DataError(
                        f"{path}:{line}: the file begins in UTF-8 and here is a byte that is not; "
                        "save it again as UTF-8"
                    ) from error
                encoding = "latin-1"
                decoder = codecs.getincrementaldecoder(encoding)()
                text = error.object.decode("latin-1")
            if "\0" in text:
                line += text[: text.index("\0")].count("\n")
                raise DataError(
                    f"{path}:{line}: a NUL character, which no table contains; if the file is "
                    "UTF-16, save it with a byte order mark or as UTF-8"
                )
            sample = sample or text[:_SAMPLE]
            end = max(text.rfind("\n"), text.rfind("\r"))
            length = length + len(text) if end < 0 else len(text) - end - 1
            line += text.count("\n")
            if length > LONGEST_LINE:
                raise DataError(f"{path}:{line}: a line of more than {LONGEST_LINE:,} characters")
            if not chunk:
                break
            other = other or not text.isascii()
            chunk = file.read(_CHUNK)
    return encoding, sample


def _separator(lines: list[str], candidates: str) -> tuple[str, bool]:
    """The separator by which most of the first rows have as many fields as the header, then the
    one that makes most fields; and whether numbers beside it have a decimal comma."""
    found = [(*_agreement(lines, each), each) for each in candidates]
    best = max(found, key=lambda each: (each[1] > 1, each[0], each[1]))
    # No separator in the header: one column, whatever its rows contain.
    separator = best[-1] if best[1] > 1 else "\t" if candidates[0] == "\t" else ","
    comma = separator != "," and any(
        DECIMAL_COMMA.fullmatch(cell) for row in _sampled(lines, separator) for cell in row
    )
    return separator, comma


def _agreement(lines: list[str], separator: str) -> tuple[float, int]:
    """The share of rows with as many fields as the header, and that number."""
    rows = _sampled(lines, separator)
    if not rows:
        return 0.0, 0
    width = len(rows[0])
    return sum(len(row) == width for row in rows[1:]) / max(len(rows) - 1, 1), width


def _sampled(lines: list[str], separator: str) -> list[list[str]]:
    rows: list[list[str]] = []
    try:
        for row in csv.reader(lines, delimiter=separator, strict=True):
            if row:
                rows.append(row)
            if len(rows) > _SAMPLE_ROWS:
                break
    except csv.Error:  # of another separator, or of the cut end
        pass
    return rows
