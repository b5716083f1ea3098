"""A file of JSON objects, one per line, that survives being killed at any moment.

A line is appended and synced in one write. A process killed while writing leaves at most one torn
line at the end, which the next writer closes and every reader skips. Several processes may write.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from gmpool.atomic_files import sync_folder
from gmpool.errors import StoreError
from gmpool.exclusive import alone

TORN = b"#torn"
"""Closes a line that a killed process left unfinished."""
WRITER = ".writer"
"""Of the name of the file that who writes has."""


class Place(NamedTuple):
    """Where reading goes on: so many bytes into the file of this number, whose line it is."""

    file: int = -1
    offset: int = 0
    line: int = 1


BEGINNING = Place()


class Journal:
    """Objects with a key each."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """(line, object)"""
        return iter(self.read()[0])

    def read(self, place: Place = BEGINNING) -> tuple[list[tuple[int, dict[str, Any]]], Place]:
        """The objects from a place on, each with its line, and the place after the last whole one.

        In a file that is not the one of the place, or is shorter, they are all of its objects.
        """
        try:
            with self.path.open("rb") as file:
                now = os.fstat(file.fileno())
                if now.st_ino != place.file or now.st_size < place.offset:
                    place = Place(now.st_ino)
                file.seek(place.offset)
                lines = file.read().split(b"\n")
        except (FileNotFoundError, NotADirectoryError):
            return [], BEGINNING
        except OSError as error:
            raise StoreError(f"the run store {self.path} cannot be read: {error}") from error
        found = []
        for number, line in enumerate(lines, start=place.line):
            if not line.strip():
                continue
            try:
                found.append((number, _parse(line)))
            except ValueError as error:
                if number == place.line + len(lines) - 1 or line.endswith(TORN):
                    continue  # cut off by a kill in the middle of a write
                raise self.not_a_row(number, error) from error
        read = sum(map(len, lines[:-1])) + len(lines) - 1
        return found, Place(place.file, place.offset + read, place.line + len(lines) - 1)

    def not_a_row(self, line: int, why: Exception) -> StoreError:
        return StoreError(
            f"{self.path}:{line}: not a row ({why}); remove that line, or move the file away to "
            f"start a new store"
        )

    def alone(self) -> AbstractContextManager[None]:
        """While nobody else writes."""
        return alone(self.path.with_name(f".{self.path.name}{WRITER}"))

    def append(self, entry: Mapping[str, Any], unless: Callable[[], bool] = lambda: False) -> bool:
        """Append an object and make sure it is on the disk before returning.

        unless: is asked while nobody else writes; when it says so nothing is written.
        """
        line = json.dumps(entry, sort_keys=True, allow_nan=False).encode() + b"\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.alone():
                if unless():
                    return False
                with self.path.open("ab+") as file:
                    end = file.seek(0, os.SEEK_END)
                    _append(file.fileno(), _closing(file, end) + line, end)
                if not end:
                    sync_folder(self.path.parent)
        except OSError as error:
            raise StoreError(
                f"the result could not be written to {self.path}: {error}; the rows before it are "
                f"untouched. Free some space, or choose another folder with --store"
            ) from error
        return True


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
    """A ValueError says what is wrong."""
    try:
        found = json.loads(line.decode(), parse_constant=_undefined)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(found, dict) or not isinstance(found.get("key"), str):
        raise ValueError("an object with a key is expected")
    if b"\\u" in line:
        json.dumps(found, ensure_ascii=False).encode()  # half a character raises
    return found


def _undefined(_: str) -> None:
    """NaN and Infinity are no JSON; rows from before that was seen to may hold them."""
