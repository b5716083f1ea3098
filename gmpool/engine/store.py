"""The run store: each finished run is recorded once, and is never computed again.

A store is a folder with `rows.jsonl`, one JSON object per finished run, appended and synced in one
write. A process killed while writing leaves at most one torn line at the end, which the next
writer closes and every reader skips.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gmpool.errors import StoreError

Row = dict[str, Any]


class RunStore:
    """Rows by key. Several processes may share a store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "rows.jsonl"

    def __iter__(self) -> Iterator[Row]:
        if not self.path.exists():
            return
        lines = self.path.read_bytes().split(b"\n")
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                yield json.loads(line)
            except ValueError as error:
                if number == len(lines) or line.endswith(TORN):
                    continue  # cut off by a kill in the middle of a write
                raise StoreError(
                    f"{self.path}:{number}: not a row ({error}); remove that line, or move the "
                    f"file away to start a new store"
                ) from error

    def finished(self) -> dict[str, Row]:
        """The rows by key; of rows with one key the first counts."""
        rows: dict[str, Row] = {}
        for row in self:
            rows.setdefault(row["key"], row)
        return rows

    def record(self, row: Row) -> None:
        """Append a row and make sure it is on the disk before returning."""
        line = json.dumps(row, sort_keys=True).encode() + b"\n"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab+") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                end = file.seek(0, os.SEEK_END)
                if end:
                    file.seek(end - 1)
                    if file.read(1) != b"\n":
                        line = TORN + b"\n" + line
                self._append(file.fileno(), line, end)
        except OSError as error:
            raise StoreError(
                f"the result could not be written to {self.path}: {error}; the rows before it are "
                f"untouched. Free some space, or choose another folder with --store"
            ) from error

    @staticmethod
    def _append(descriptor: int, line: bytes, end: int) -> None:
        """All or nothing: a short write (a full disk) is taken back."""
        try:
            written = 0
            while written < len(line):
                written += os.write(descriptor, line[written:])
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, end)
            raise


TORN = b"#torn"
"""Closes a line that a killed process left unfinished."""
