"""The text files of a TU set, in a folder or in a zip."""

import io
import lzma
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from gmpool.data.sources.number_lines import read_numbers
from gmpool.errors import DataError

# What Python's zipfile raises for damaged archives, unknown methods and passwords.
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError, NotImplementedError,
    RuntimeError, ValueError, OverflowError, MemoryError,
)  # fmt: skip
MOST_TIMES, ALWAYS_FINE = 100, 1 << 26
"""A zip may hold so many times its own size, or so many bytes. COLLAB holds 35 times its size."""


class TUFiles:
    """The files by the part of their name behind NAME_, such as "graph_indicator"."""

    def __init__(self, path: Path, name: str | None) -> None:
        self.path = path
        self._open: Callable[[str], IO[bytes]]
        if path.is_dir():
            # A pipe or a device of that name would be waited for.
            self._names = {p.name: p.name for p in path.glob("*.txt") if p.is_file()}
            self._open = lambda entry: (path / entry).open("rb")
        elif path.is_file():
            self._names, self._open = _open_zip(path)
        else:
            raise DataError(f"{path}: no such file or folder")
        self.name = name or self._guess()

    def _guess(self) -> str:
        found = sorted(n.removesuffix("_A.txt") for n in self._names if n.endswith("_A.txt"))
        if len(found) != 1:
            what = f"several ({', '.join(map(repr, found))})" if found else "none"
            raise DataError(f"{self.path}: expected one file NAME_A.txt, found {what}")
        return found[0]

    def __contains__(self, part: str) -> bool:
        return f"{self.name}_{part}.txt" in self._names

    def where(self, part: str) -> str:
        return str(self.path / f"{self.name}_{part}.txt")

    def read(
        self,
        part: str,
        dtype: type[np.generic],
        columns: int | None = None,
        rows: int | None = None,
    ) -> NDArray[Any]:
        if part not in self:
            raise DataError(f"{self.where(part)}: no such file; a TU set needs it")
        try:
            with self._open(self._names[f"{self.name}_{part}.txt"]) as file:
                table = read_numbers(file, self.where(part), dtype, columns)
        except DataError:
            raise
        except _DAMAGED as error:
            raise DataError(f"{self.where(part)}: cannot be read ({str(error)[:200]})") from error
        if rows is not None and len(table) != rows:
            raise DataError(f"{self.where(part)}: {len(table)} lines, expected {rows}")
        return table


def _open_zip(path: Path) -> tuple[dict[str, str], Callable[[str], IO[bytes]]]:
    """The text files in an archive by their names without folders, and how to open them."""
    try:
        archive = zipfile.ZipFile(path)
    except _DAMAGED as error:
        raise DataError(f"{path}: not a readable zip file ({error})") from error
    names: dict[str, str] = {}
    size = 0
    for entry in archive.infolist():
        place = PurePosixPath(entry.filename)
        if entry.filename.endswith("/") or place.suffix != ".txt" or "__MACOSX" in place.parts:
            continue
        if place.name in names:
            both = f"{names[place.name]!r} and {entry.filename!r}"
            raise DataError(f"{path}: two files {place.name}, {both}; give a zip of one set")
        names[place.name] = entry.filename
        size += entry.file_size  # zipfile reads no further than that
    limit = max(ALWAYS_FINE, MOST_TIMES * path.stat().st_size)
    if size > limit:
        raise DataError(
            f"{path}: unpacks to {size:,} bytes, more than {MOST_TIMES} times its own size; "
            "if you trust it, unpack it and give the folder instead"
        )

    def opened(entry: str) -> IO[bytes]:
        file = archive.open(entry)
        simple = archive.getinfo(entry).compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        return file if simple else io.BufferedReader(_InPieces(file))

    return names, opened


class _InPieces(io.RawIOBase):
    """A file in an archive that asks for little at a time: zipfile unpacks bzip2 and LZMA without
    a bound on what comes out of what it takes in."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(min(len(buffer), 4096))
        buffer[: len(data)] = data
        return len(data)
