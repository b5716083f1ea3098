"""Files that are either whole or not there."""

import contextlib
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path

PathLike = str | os.PathLike[str]


@contextlib.contextmanager
def replacing(*files: PathLike) -> Iterator[tuple[Path, ...]]:
    """Temporary paths beside the files, to be written; when all are whole, they are put in place.

    If anything fails the temporary files are removed, and what was there stays as it was.
    """
    paths = [Path(file) for file in files]
    token = secrets.token_hex(4)
    temporary = tuple(path.with_name(f".{path.name}.{token}") for path in paths)
    try:
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
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


def write_atomically(files: Mapping[Path, bytes]) -> None:
    """Write all of the files or none, as :func:`replacing` does."""
    with replacing(*files) as temporary:
        for path, content in zip(temporary, files.values(), strict=True):
            path.write_bytes(content)
