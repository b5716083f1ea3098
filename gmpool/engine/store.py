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
from typing import Any, BinaryIO

from gmpool.errors import StoreError

Row = dict[str, Any]


class RunStore:
    """Rows by key. Several processes may share a store."""

    def __init__(self, folder: Path, name: str = "rows.jsonl") -> None:
        self.folder = folder
        self.path = folder / name

    def __iter__(self) -> Iterator[Row]:
        try:
            lines = self.path.read_bytes().split(b"\n")
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise StoreError(f"the run store {self.path} cannot be read: {error}") from error
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                yield _parse(line)
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
                self._append(file.fileno(), self._closing(file, end) + line, end)
        except OSError as error:
            raise StoreError(
                f"the result could not be written to {self.path}: {error}; the rows before it are "
                f"untouched. Free some space, or choose another folder with --store"
            ) from error

    @staticmethod
    def _closing(file: BinaryIO, end: int) -> bytes:
        """What must come before a new line: nothing, or the end of an unfinished one."""
        file.seek(max(0, end - 1))
        if file.read(1) in (b"", b"\n"):
            return b""
        file.seek(0)
        try:
            _parse(file.read().rsplit(b"\n", 1)[-1])
        except ValueError:
            return TORN + b"\n"
        return b"\n"  # whole but for its end, and readers have counted it

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


def _parse(line: bytes) -> Row:
    row = json.loads(line)
    if not isinstance(row, dict) or "key" not in row:
        raise ValueError("an object with a key is expected")
    return row
