"""One door to all data: a dataset's name, or the path of a file or folder."""

from __future__ import annotations

import os
from pathlib import Path

from gmpool.atomic_files import PathLike
from gmpool.data.dataset import Dataset
from gmpool.data.source import SOURCES, source_of
from gmpool.errors import DataError, unknown


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
