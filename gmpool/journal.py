"""A file of JSON objects, one per line, that survives being killed at any moment.

A line is appended and synced in one write. A process killed while writing leaves at most one torn
line at the end, which the next writer closes and every reader skips. Several processes may write.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock

from gmpool.errors import StoreError

TORN = b"#torn"
"""Closes a line that a killed process left unfinished."""


class Journal:
    """Objects with a key each."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """(line, object)"""
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
                yield number, _parse(line)
            except ValueError as error:
                if number == len(lines) or line.endswith(TORN):
                    continue  # cut off by a kill in the middle of a write
                raise self.not_a_row(number, error) from error

    def not_a_row(self, line: int, why: Exception) -> StoreError:
        return StoreError(
            f"{self.path}:{line}: not a row ({why}); remove that line, or move the file away to "
            f"start a new store"
        )

    def append(self, entry: Mapping[str, Any]) -> None:
        """Append an object and make sure it is on the disk before returning."""
        line = json.dumps(entry, sort_keys=True).encode() + b"\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.path.with_name(f".{self.path.name}.lock"))
            with lock, self.path.open("ab+") as file:
                end = file.seek(0, os.SEEK_END)
                _append(file.fileno(), _closing(file, end) + line, end)
        except OSError as error:
            raise StoreError(
                f"the result could not be written to {self.path}: {error}; the rows before it are "
                f"untouched. Free some space, or choose another folder with --store"
            ) from error


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


def _parse(line: bytes) -> dict[str, Any]:
    found = json.loads(line)
    if not isinstance(found, dict) or "key" not in found:
        raise ValueError("an object with a key is expected")
    return found
