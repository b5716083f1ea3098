"""Files that are either whole or not there."""

import contextlib
import os
import re
import secrets
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

PathLike = str | os.PathLike[str]
A_DAY = 86400.0


@contextlib.contextmanager
def replacing(*files: PathLike) -> Iterator[tuple[Path, ...]]:
    """Temporary paths beside the files, to be written; when all are whole, they are put in place,
    one after the other.

    If anything fails the temporary files are removed, and what was there stays as it was.
    """
    paths = [Path(file) for file in files]
    token = secrets.token_hex(4)
    temporary = tuple(path.with_name(f".{path.name}.{token}") for path in paths)
    try:
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            _sweep(path)
        yield temporary
        for written in temporary:
            with written.open("r+b") as file:  # not all systems sync a file opened for reading
                os.fsync(file.fileno())
        for written, path in zip(temporary, paths, strict=True):
            os.replace(written, path)
    except BaseException:
        for leftover in temporary:
            with contextlib.suppress(OSError):
                leftover.unlink()
        raise
    for folder in {path.parent for path in paths}:
        sync_folder(folder)


def write_atomically(files: Mapping[Path, bytes]) -> None:
    """Write all of the files or none, as :func:`replacing` does."""
    with replacing(*files) as temporary:
        for path, content in zip(temporary, files.values(), strict=True):
            path.write_bytes(content)


def sync_folder(folder: Path) -> None:
    """Names that were given in a folder are on the disk, where the system can see to it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _sweep(path: Path) -> None:
    """Remove what processes that were killed a day ago or more left of writing this file."""
    ours = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}")
    with contextlib.suppress(OSError), os.scandir(path.parent) as entries:
        for entry in entries:
            if ours.fullmatch(entry.name) and time.time() - entry.stat().st_mtime > A_DAY:
                os.unlink(entry.path)
