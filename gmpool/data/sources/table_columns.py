"""A table of molecules in memory, and which of its columns hold the molecules and the split."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gmpool.atomic_files import PathLike
from gmpool.data.sources.table_cells import is_missing, open_cells
from gmpool.data.sources.table_numbers import Numbers, read_numbers
from gmpool.data.split_request import NO_SPLIT
from gmpool.data.splits import is_part
from gmpool.errors import DataError, unknown

# fmt: off
_SMILES_NAMES = frozenset((
    "smi", "smile", "canonical_smiles", "isomeric_smiles", "smiles_string", "structure", "mol",
    "molecule",
))
# fmt: on
_SHOWN_NAMES = 8
_SHOWN_LETTERS = 60


@dataclass(frozen=True)
class Table:
    """The rows of a table that fit its header."""

    path: str
    header: list[str]
    form: str
    """How the file holds its cells, in words."""
    lines: list[int]
    """Of each row the line on which it ends."""
    rows: list[list[str]]
    bad: list[tuple[int, str]]
    """Line and reason of each row that does not fit."""
    _numbers: dict[int, Numbers] = field(default_factory=dict)

    @classmethod
    def read(cls, source: PathLike | Any) -> Table:
        with open_cells(source) as cells:
            table = cls(cells.path, cells.header, cells.form, [], [], [])
            for number, row, problem in cells:
                if problem is None:
                    table.lines.append(number)
                    table.rows.append(row)
                else:
                    table.bad.append((number, problem))
        if not table.rows and not table.bad:
            raise DataError(f"{table.path}: there is a header but no row below it")
        return table

    def column(self, at: int) -> list[str]:
        return [cells[at] for cells in self.rows]

    def words(self, at: int) -> list[str]:
        """The cells that are no gaps."""
        return [cell.strip() for cell in self.column(at) if not is_missing(cell)]

    def numbers(self, at: int) -> Numbers:
        if at not in self._numbers:
            self._numbers[at] = read_numbers(self.column(at))
        return self._numbers[at]

    def position(self, name: str) -> int:
        return _position(name, self.path, self.header)

    def find_smiles(self, name: str | None) -> int:
        return find_smiles(name, self.path, self.header)

    def find_split(self, name: str | None) -> int | None:
        """The column called split, else the only one whose cells all name parts."""
        if name is not None:
            return None if name.lower() == NO_SPLIT else self.position(name)
        for at, column in enumerate(self.header):
            if column.lower() == "split":
                if self.numbers(at).numeric:
                    raise DataError(
                        f"{self.path}: column {column!r} holds numbers; to use them as folds give "
                        f"--split-column {column}, to take no notice --split-column {NO_SPLIT}"
                    )
                return at
        found = [at for at in range(len(self.header)) if self._names_parts(at)]
        if len(found) > 1:
            listed = quoted([(self.header[at], "") for at in found])
            raise DataError(
                f"{self.path}: several columns name parts of a split: {listed}; choose one with "
                f"--split-column, or none of them with --split-column {NO_SPLIT}"
            )
        return found[0] if found else None

    def _names_parts(self, at: int) -> bool:
        """Whether all cells say train, valid or test, and at least two of them."""
        if not self.rows or not is_part(self.rows[0][at]):
            return False
        found = set(self.column(at))
        return len(found) > 1 and all(map(is_part, found))


def find_smiles(name: str | None, path: str, header: list[str]) -> int:
    """The named column, else the one called smiles, else the only one with one of a few names."""
    if name is not None:
        return _position(name, path, header)
    names = [re.sub(r"[^a-z0-9]+", "_", column.lower()) for column in header]
    if "smiles" in names:
        return names.index("smiles")
    found = [at for at, column in enumerate(names) if column in _SMILES_NAMES]
    if len(found) != 1:
        which = "several columns may hold SMILES" if found else "no column is called 'smiles'"
        raise DataError(
            f"{path}: {which}; name the one that holds SMILES with --smiles-column "
            f"(columns: {quoted([(column, '') for column in header])})"
        )
    return found[0]


def _position(name: str, path: str, header: list[str]) -> int:
    if name not in header:
        raise DataError(f"{path}: {unknown('column', name, filter(None, header))}")
    return header.index(name)


def shown(cell: str) -> str:
    """A cell in a message: nothing in it reaches a terminal as it is."""
    text = cell.strip()
    return repr(text) if len(text) <= _SHOWN_LETTERS else f"{text[:_SHOWN_LETTERS]!r}…"


def quoted(columns: Sequence[tuple[str, str]]) -> str:
    """'a' (reason), 'b' and so on, the first of them."""
    parts = [f"{name!r} ({why})" if why else repr(name) for name, why in columns[:_SHOWN_NAMES]]
    more = len(columns) - len(parts)
    return ", ".join(parts) + (f" and {more} more" if more else "")
