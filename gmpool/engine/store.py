"""The run store: each finished run is recorded once, and is never computed again.

A store is a folder with `rows.jsonl`, a journal of one row per finished run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gmpool.journal import BEGINNING, Journal, Place
from gmpool.record import Row


class RunStore:
    """Rows by key. Several processes may share a store."""

    def __init__(self, folder: str | Path, name: str = "rows.jsonl") -> None:
        self.folder = Path(folder)
        self.journal = Journal(self.folder / name)
        self._rows: dict[str, Row] = {}
        self._place = BEGINNING

    @classmethod
    def at(cls, path: str | Path) -> RunStore:
        """A folder, or a file of rows."""
        path = Path(path)
        return cls(path.parent, path.name) if path.is_file() else cls(path)

    @property
    def path(self) -> Path:
        return self.journal.path

    def __iter__(self) -> Iterator[Row]:
        return iter(self._read(BEGINNING)[0])

    def finished(self) -> dict[str, Row]:
        """The rows by key, of all processes until now; of rows with one key the first counts."""
        found, after = self._read(self._place)
        if after.file != self._place.file or after.offset < self._place.offset:
            self._rows = {}  # another file has taken its place, and was read from its beginning
        self._place = after
        for row in found:
            self._rows.setdefault(row.key, row)
        return dict(self._rows)

    def record(self, row: Row) -> bool:
        """Append a row and make sure it is on the disk before returning; False: the run has been
        recorded, and nothing is written."""
        return self.journal.append(row.to_json(), unless=lambda: row.key in self.finished())

    def _read(self, place: Place) -> tuple[list[Row], Place]:
        entries, after = self.journal.read(place)
        rows = []
        for line, entry in entries:
            try:
                rows.append(Row.from_json(entry))
            except ValueError as error:
                raise self.journal.not_a_row(line, error) from error
        return rows, after
