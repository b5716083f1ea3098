"""One door to all data, a dataset's name or a path, and the sources behind it: whatever lies in
``sources/``."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from gmpool.atomic_files import PathLike
from gmpool.data.dataset import Dataset
from gmpool.errors import DataError, unknown
from gmpool.registry import Registry


@dataclass(frozen=True, kw_only=True)
class Source:
    """One kind of data that ``load`` opens."""

    load: Callable[[str, PathLike | None], Dataset]
    """Reads a name or path that is its kind; the second argument is the folder to search first."""
    names: Callable[[], Collection[str]] = tuple
    """The names of sets that are its kind. A name goes before a file that is called the same."""
    accepts: Callable[[Path], bool] = lambda path: False
    """Whether a path is its kind, by its ending or by what lies there."""
    files: str = ""
    """The paths it accepts, for messages."""


SOURCES: Registry[Source] = Registry(
    "source", package="gmpool.data.sources", group="gmpool.sources"
)


def source_of(name: str) -> Source | None:
    """The source that a name or path is for; None where no source knows it."""
    known = [SOURCES[each] for each in SOURCES]
    named = (source for source in known if name in source.names())
    accepting = (source for source in known if source.accepts(Path(name)))
    return next(named, None) or next(accepting, None)


def load(name_or_path: PathLike, root: PathLike | None = None) -> Dataset:
    """A dataset by name, or from a path: a table (.csv, .tsv, also .gz or .xz), a TU folder or
    zip, or a packed .safetensors file; in short, whatever one of ``SOURCES`` knows.

    Files of named sets are looked for in ``root``, else in $GMPOOL_DATA, then in the user's cache;
    TU sets are downloaded when missing. Checksums are verified.
    """
    name = os.fspath(name_or_path)
    source = source_of(name)
    if source is not None:
        return source.load(name, root)
    path = Path(name)
    known = [SOURCES[each] for each in SOURCES]
    if path.exists():
        files = ", ".join(each.files for each in known if each.files)
        raise DataError(f"{path}: not a kind of file that can be read (known: {files})")
    if path.suffix or os.sep in name:
        raise DataError(f"{path}: no such file or folder")
    raise unknown("dataset", name, [each for source in known for each in source.names()])
