"""The run store: each finished run is recorded once, and is never computed again.

A store is a folder with `rows.jsonl`, a journal of one row per finished run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gmpool.journal import Journal
from gmpool.record import Row


class RunStore:
    """Rows by key. Several processes may share a store."""

    def __init__(self, folder: str | Path, name: str = "rows.jsonl") -> None:
        self.folder = Path(folder)
        self.journal = Journal(self.folder / name)

    @classmethod
    def at(cls, path: str | Path) -> RunStore:
        """A folder, or a file of rows."""
        path = Path(path)
        return cls(path.parent, path.name) if path.is_file() else cls(path)

    @property
    def path(self) -> Path:
        return self.journal.path

    def __iter__(self) -> Iterator[Row]:
        for line, entry in self.journal:
            try:
                row = Row.from_json(entry)
            except ValueError as error:
                raise self.journal.not_a_row(line, error) from error
            yield row

    def finished(self) -> dict[str, Row]:
        """The rows by key; of rows with one key the first counts."""
        rows: dict[str, Row] = {}
        for row in self:
            rows.setdefault(row.key, row)
        return rows

    def record(self, row: Row) -> None:
        """Append a row and make sure it is on the disk before returning."""
        self.journal.append(row.to_json())
