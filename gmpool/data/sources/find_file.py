"""Where the file of a named set is: given folder, $GMPOOL_DATA, cache, public home."""

import hashlib
import logging
import os
import urllib.request
from collections.abc import Iterable
from pathlib import Path

from gmpool.atomic_files import PathLike, replacing
from gmpool.errors import DataError

_log = logging.getLogger(__name__)
_TIMEOUT_S = 30


def cache_dir() -> Path:
    """The user's cache: $XDG_CACHE_HOME/gmpool, else ~/.cache/gmpool."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "gmpool"


def folders(root: PathLike | None) -> list[Path]:
    """The folders that are searched, in order."""
    given = root or os.environ.get("GMPOOL_DATA")
    return [*([Path(given)] if given else []), cache_dir()]


def find(files: Iterable[str], root: PathLike | None = None) -> Path | None:
    """The first of the files that is there, the earlier folder first."""
    wanted = [folder / file for folder in folders(root) for file in files]
    return next((path for path in wanted if path.is_file()), None)


def missing(name: str, files: Iterable[str], reason: str, root: PathLike | None) -> DataError:
    """The error for a named set whose files are nowhere."""
    places = ", ".join(str(p) for p in folders(root))
    return DataError(
        f"dataset {name!r}: no file {' or '.join(files)} ({reason}); put it into one of: {places}; "
        "or set GMPOOL_DATA to the folder that holds it"
    )


def download(url: str, path: Path) -> Path:
    """Fetches ``url`` to ``path``, all or nothing."""
    with (
        replacing(path) as (temporary,),
        temporary.open("wb") as out,
        urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer,
    ):
        _log.info("fetching %s", url)
        while block := answer.read(1 << 20):
            out.write(block)
    return path


def sha256(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def wrong_checksum(path: Path, expected: str, found: str) -> DataError:
    """The error for a file that is not what the catalogue says."""
    return DataError(
        f"{path}: wrong checksum (expected {expected}, found {found}); "
        "delete it and get it again, or give its path instead of the dataset's name"
    )
