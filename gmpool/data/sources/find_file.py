"""Where the file of a named set is: given folder, $GMPOOL_DATA, cache, public home."""

import hashlib
import logging
import os
from collections.abc import Iterable
from pathlib import Path

from gmpool.atomic_files import PathLike
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


def download(url: str, path: Path, *, limit: int, expected: str | None = None) -> Path:
    """Fetches ``url`` to ``path``, all or nothing.

    More than ``limit`` bytes are not taken, and other bytes than those with the SHA-256
    ``expected`` are not kept: both are DataErrors. What a network does is an OSError.
    """
    try:
        import pooch
    except ImportError as error:
        raise OSError("the package 'pooch' is not installed") from error
    pooch.get_logger().setLevel(logging.WARNING)  # ours says what is fetched
    _log.info("fetching %s", url)
    try:
        known = None if expected is None else f"sha256:{expected}"
        pooch.retrieve(url, known, path.name, path.parent, downloader=_Bounded(limit))
    except DataError:
        raise
    except ValueError as error:  # pooch says so of a wrong checksum
        raise DataError(f"{url}: {error}") from error
    return path


class _Bounded:
    """A downloader for pooch that stops where more comes than was expected, or less."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def __call__(self, url: str, output_file: str, pooch: object) -> None:
        import requests

        with (
            requests.get(url, stream=True, timeout=_TIMEOUT_S) as answer,
            open(output_file, "wb") as out,
        ):
            answer.raise_for_status()
            declared = answer.headers.get("Content-Length", "")
            self._check(url, int(declared) if declared.isdigit() else 0)
            for block in answer.iter_content(1 << 20):
                out.write(block)
                self._check(url, out.tell())

    def _check(self, url: str, size: int) -> None:
        if size > self.limit:
            raise DataError(
                f"{url}: larger than the {self.limit:,} bytes that are expected at most; if it is "
                "right, fetch it yourself and give its path"
            )


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
