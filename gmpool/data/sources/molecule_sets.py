"""The molecule sets of the catalogue: tables with a known split, packed once."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

from gmpool.atomic_files import PathLike
from gmpool.data.dataset import SOURCES, Dataset, Source
from gmpool.data.sources.atom_types import ZINC_TYPES, AtomTypePacker
from gmpool.data.sources.catalogue import CATALOGUE, dataset_names
from gmpool.data.sources.find_file import find, missing, sha256, wrong_checksum
from gmpool.data.sources.packed_file import Packed, packed_once
from gmpool.data.sources.table import read_csv
from gmpool.data.splits import random_split

_log = logging.getLogger(__name__)


def load_molecule_set(name: str, root: PathLike | None = None) -> Dataset:
    """A molecule set by name, with the split of its table, else a random one."""
    path = find_molecule_set(name, root)
    entry, found = CATALOGUE[name], sha256(path)
    expected = entry.files.get(path.name, "")
    if expected and found != expected:
        raise wrong_checksum(path, expected, found)
    graphs, split = packed_once(name, found, lambda: _read(name, path))
    if entry.content and graphs.digest != entry.content:
        _log.warning(
            "%s: RDKit reads these molecules as graphs with digest %s, not %s as they are recorded",
            name,
            graphs.digest,
            entry.content,
        )
    return Dataset.of(graphs, (split or random_split(len(graphs)),))


def find_molecule_set(name: str, root: PathLike | None = None) -> Path:
    """Its table."""
    files = CATALOGUE[name].files or (f"{name}.csv.gz",)
    found = find(files, root)
    if found is None:
        raise missing(name, files, "it is not fetched automatically", root)
    return found


def _read(name: str, path: Path) -> Packed:
    options: dict[str, Any] = {}
    if CATALOGUE[name].kind == "atoms":
        options = {"label_columns": (), "packer": AtomTypePacker(ZINC_TYPES)}
    graphs, split, _ = read_csv(path, **options)
    return replace(graphs, name=name), split


SOURCES.register("molecule-set")(
    Source(load=load_molecule_set, names=lambda: dataset_names("molecules", "atoms"))
)
