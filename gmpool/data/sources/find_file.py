"""Where a named dataset's file is: given folder, $GMPOOL_DATA, cache, grakel, public home."""

from __future__ import annotations

import hashlib
import http.client
import importlib.util
import logging
import os
import secrets
import urllib.request
from pathlib import Path

from gmpool.data.sources.catalogue import CATALOGUE, TU_HOME
from gmpool.errors import DataError

_log = logging.getLogger(__name__)
_TIMEOUT_S = 30


def cache_dir() -> Path:
    """The user's cache: $XDG_CACHE_HOME/gmpool, else ~/.cache/gmpool."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "gmpool"


def folders(root: str | os.PathLike[str] | None) -> list[Path]:
    """The folders that are searched, in order."""
    given = root or os.environ.get("GMPOOL_DATA")
    return [*([Path(given)] if given else []), cache_dir()]


def find(name: str, root: str | os.PathLike[str] | None = None) -> Path:
    """The file or folder of dataset ``name``; TU sets are downloaded when they are nowhere."""
    entry = CATALOGUE[name]
    for folder in folders(root):
        wanted = [folder / file for file in entry.files]
        if entry.kind == "tu":
            wanted += [p / f"{name}_A.txt" for p in (folder / name, folder / name / "raw")]
        for path in wanted:
            if path.is_file():
                return path.parent if path.name.endswith("_A.txt") else path
    if name == "MUTAG" and (bundled := _grakel_mutag()):
        return bundled
    reason = "it is not fetched automatically"
    if entry.kind == "tu":
        try:
            return download(f"{TU_HOME}/{name}.zip", cache_dir() / f"{name}.zip")
        except (OSError, http.client.HTTPException) as error:
            reason = f"{TU_HOME}/{name}.zip cannot be fetched: {error}"
    files = " or ".join(entry.files)
    places = ", ".join(str(p) for p in folders(root))
    raise DataError(
        f"dataset {name!r}: no file {files} ({reason}); put it into one of: {places}; "
        "or set GMPOOL_DATA to the folder that holds it"
    )


def _grakel_mutag() -> Path | None:
    """The MUTAG copy among the tests of an installed grakel, found without importing it."""
    spec = importlib.util.find_spec("grakel")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "tests" / "data" / "MUTAG"
    return folder if (folder / "MUTAG_A.txt").is_file() else None


def download(url: str, path: Path) -> Path:
    """Fetches ``url`` to ``path``, all or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with (
            temporary.open("wb") as out,
            urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer,
        ):
            _log.info("fetching %s", url)
            while block := answer.read(1 << 20):
                out.write(block)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
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
