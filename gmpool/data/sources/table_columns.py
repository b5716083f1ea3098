"""The cells of a table of molecules, and which of its columns are what."""

from __future__ import annotations

import csv
import gzip
import logging
import lzma
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from gmpool.data.packed_fields import Task
from gmpool.errors import DataError, unknown

_log = logging.getLogger(__name__)
_OPENERS: dict[str, Callable[..., IO[Any]]] = {".gz": gzip.open, ".xz": lzma.open}
_ID_NAMES = frozenset(("id", "index", "idx", "name", "line", "row"))
SUFFIXES = tuple(s + c for s in (".csv", ".tsv") for c in ("", *_OPENERS))


@dataclass(frozen=True)
class LabelColumns:
    """Where the labels of a table are."""

    columns: tuple[int, ...]
    words: bool  # one column of class names, not numbers


@dataclass(frozen=True)
class Table:
    """The cells of a file, with the line on which each row ends."""

    path: Path
    header: list[str]
    lines: list[int]
    rows: list[list[str]]
    bad: list[tuple[int, str]]

    @classmethod
    def read(cls, path: Path) -> Table:
        rows = _cells(path)
        try:
            _, header = next(rows, (0, []))
            header = [name.strip() for name in header]
            if not any(header):
                raise DataError(f"{path}: the file is empty; expected a header row")
            twice = sorted({name for name in header if header.count(name) > 1})
            if twice:
                raise DataError(f"{path}:1: column name {twice[0]!r} appears more than once")
            table = cls(path, header, [], [], [])
            for line, cells in rows:
                if len(cells) != len(header):
                    reason = f"{len(cells)} fields, expected {len(header)}"
                    table.bad.append((line, reason))
                else:
                    table.lines.append(line)
                    table.rows.append(cells)
        except (OSError, EOFError, UnicodeDecodeError, csv.Error, lzma.LZMAError) as error:
            raise DataError(f"{path}: cannot be read as a table ({error})") from error
        if not table.rows and not table.bad:
            raise DataError(f"{path}: there is a header but no row below it")
        return table

    def column(self, at: int) -> list[str]:
        return [cells[at] for cells in self.rows]

    def _position(self, name: str) -> int:
        if name not in self.header:
            raise DataError(f"{self.path}: {unknown('column', name, self.header)}")
        return self.header.index(name)

    def find_smiles(self, name: str | None) -> int:
        if name is not None:
            return self._position(name)
        found = [i for i, column in enumerate(self.header) if column.lower() == "smiles"]
        if not found:
            raise DataError(
                f"{self.path}: no column is called 'smiles'; name the one that holds SMILES with "
                f"--smiles-column (columns: {', '.join(self.header)})"
            )
        return found[0]

    def find_split(self, name: str | None) -> int | None:
        if name is not None:
            return self._position(name)
        words = {"train", "valid", "val", "validation", "test"}
        for i, column in enumerate(self.header):
            if column.lower() == "split":
                values = {v.strip().lower() for v in self.column(i)}
                return i if values <= words else None
        return None

    def find_labels(
        self, names: Sequence[str] | None, taken: set[int | None], task: Task | None
    ) -> LabelColumns:
        if names is not None:
            columns = tuple(self._position(name) for name in names)
            words = task in (None, "multiclass") and len(columns) == 1
            return LabelColumns(columns, words and not self._numeric(columns[0]))
        free = [
            i
            for i, name in enumerate(self.header)
            if i not in taken and name.lower() not in _ID_NAMES and not name.lower().endswith("_id")
        ]
        numeric = tuple(i for i in free if self._numeric(i))
        if numeric:
            ignored = [self.header[i] for i in free if i not in numeric]
            if ignored:
                _log.warning("%s: columns not used: %s", self.path, ", ".join(ignored))
            return LabelColumns(numeric, False)
        if len(free) == 1:
            return LabelColumns((free[0],), True)
        raise DataError(
            f"{self.path}: cannot tell which columns are labels; name them "
            f"(columns: {', '.join(self.header)})"
        )

    def _numeric(self, at: int) -> bool:
        """Whether most of the cells that are not empty are numbers."""
        filled = [cell for cell in self.column(at) if cell.strip()]
        return sum(_is_number(cell) for cell in filled) * 2 > len(filled)


def row_labels(
    cells: list[str], labels: LabelColumns, task: Task | None, header: list[str]
) -> list[float]:
    """The row's labels; an empty cell is NaN. ValueError says which cell is wrong."""
    values = []
    for at in labels.columns:
        text = cells[at].strip()
        if text and not _is_number(text):
            raise ValueError(f"label {text!r} in column {header[at]!r} is not a number")
        value = float(text) if text else float("nan")
        if task == "binary" and text and value not in (0.0, 1.0):
            raise ValueError(f"label {text!r} in column {header[at]!r} is not 0, 1 or empty")
        if task == "multiclass" and not (text and value.is_integer()):
            raise ValueError(f"label {text!r} in column {header[at]!r} is not a class number")
        values.append(value)
    return values


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    """(line, cells) of each row that is not blank, the header first."""
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    delimiter = "\t" if ".tsv" in path.suffixes else ","
    opener: Callable[..., IO[Any]] = _OPENERS.get(path.suffix, open)
    with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        for cells in reader:
            if cells:
                yield reader.line_num, cells


def stem(path: Path) -> str:
    """The file name without .csv.gz and the like."""
    return path.name.removesuffix(path.suffix if path.suffix in _OPENERS else "").rsplit(".", 1)[0]
