"""The cells of a table as people have them, one row after the other: a text file of any common
dialect, a Parquet file, or a pandas DataFrame."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gmpool.atomic_files import PathLike
from gmpool.data.sources.table_text import OPENERS, ending, text_form, text_rows
from gmpool.errors import DataError, MissingPackage
from gmpool.plain_text import shortened

_TEXT = (".csv", ".tsv", ".txt", ".smi", ".smiles")
SUFFIXES = (*(s + c for s in _TEXT for c in ("", *OPENERS)), ".parquet")
_MISSING = frozenset(
    ("", "NaN", "nan", "NAN", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaT", "null", "NULL", "None",
     "-", "?")
)  # fmt: skip
_LONGEST_NAME = 500  # letters; messages repeat names
_BREAKS = re.compile(r"\s*[\t\n\r\v\f]\s*")
_Rows = Iterator[tuple[int, list[str]]]


def is_missing(cell: str) -> bool:
    """Whether a cell says that there is no value."""
    return cell.strip() in _MISSING


class Line(NamedTuple):
    """One row below the header."""

    number: int
    """The line of the file on which the row ends; in Parquet and DataFrames, which row it is."""
    cells: list[str]
    problem: str | None
    """Why the cells do not fit the header."""


class Cells:
    """The rows of a table in their order. Iterate once, in a ``with`` block."""

    def __init__(self, path: str, header: list[str], form: str, rows: _Rows) -> None:
        self.path = path
        self.header = header
        self.form = form
        """What was recognised, in words."""
        self._rows = rows

    def __iter__(self) -> Iterator[Line]:
        width = len(self.header)
        for number, cells in self._rows:
            if len(cells) == width:
                yield Line(number, cells, None)
            elif len(cells) > 1 or cells[0].strip():  # else a blank line
                yield Line(number, cells, f"{len(cells)} fields, expected {width}")

    def __enter__(self) -> Cells:
        return self

    def __exit__(self, *_: object) -> None:
        close = getattr(self._rows, "close", None)
        if close is not None:
            close()


def open_cells(source: PathLike | Any) -> Cells:
    """The cells of a path that ends as one of ``SUFFIXES``, or of a pandas DataFrame."""
    if is_frame(source):
        return _framed(source)
    path = Path(source)
    if not path.is_file():
        raise DataError(f"{path}: no such file" if not path.exists() else f"{path}: not a file")
    if ending(path) == ".parquet":
        return _parquet(path)
    form = text_form(path)
    rows = text_rows(path, form)
    number, header = next(rows, (0, []))
    names = _header(f"{path}:{number}" if number else str(path), header)
    return Cells(str(path), names, form.words, rows)


def is_frame(source: object) -> bool:
    """Whether it is a pandas DataFrame, which is not imported to see it."""
    return hasattr(source, "columns") and hasattr(source, "itertuples")


def stem(source: PathLike | Any) -> str:
    """The file name without .csv.gz and the like."""
    if is_frame(source):
        return "table"
    path = Path(source)
    return path.name.removesuffix(path.suffix if path.suffix in OPENERS else "").rsplit(".", 1)[0]


def _header(where: str, names: list[str]) -> list[str]:
    """The names without spaces around them, each there once, none that a terminal would obey."""
    header = [_BREAKS.sub(" ", name.strip()) for name in names]
    if not any(header):
        raise DataError(f"{where}: the file is empty; expected a header row")
    for name, count in Counter(header).items():
        if len(name) > _LONGEST_NAME:
            shown = shortened(repr(name))
            raise DataError(
                f"{where}: column name {shown} has {len(name):,} letters, more than "
                f"{_LONGEST_NAME}; is the first line a header?"
            )
        if count > 1 and name:
            raise DataError(f"{where}: column name {name!r} appears more than once")
        if any(unicodedata.category(letter) == "Cc" for letter in name):
            raise DataError(f"{where}: column name {name!r} contains control characters")
    return header


def _parquet(path: Path) -> Cells:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingPackage("pyarrow", "parquet", "reading .parquet") from error

    def rows() -> _Rows:
        number = 0
        try:
            for batch in file.iter_batches(batch_size=4096):
                columns = [column.to_pylist() for column in batch.columns]
                for values in zip(*columns, strict=True):
                    number += 1
                    yield number, [_text(value) for value in values]
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            raise DataError(f"{path}: row {number + 1} cannot be read ({error})") from error
        finally:
            file.close()

    try:
        file = pyarrow.parquet.ParquetFile(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path}: cannot be read as Parquet ({error})") from error
    return Cells(str(path), _header(str(path), file.schema_arrow.names), "Parquet", rows())


def _framed(frame: Any) -> Cells:
    tuples = enumerate(frame.itertuples(index=False, name=None))
    rows = ((number, [_text(value) for value in values]) for number, values in tuples)
    header = _header("DataFrame", [str(name) for name in frame.columns])
    return Cells("DataFrame", header, "DataFrame", rows)


def _text(value: Any) -> str:
    """A value as text from which it can be read again."""
    if value is None:
        return ""
    return value.decode() if isinstance(value, bytes) else str(value)
