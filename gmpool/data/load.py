"""One door to all data: a dataset's name, or the path of a file or folder."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from gmpool.data import packed_file as store
from gmpool.data.forms import PathLike
from gmpool.data.packed import PackedGraphs, Task
from gmpool.data.sources.atom_types import ZINC_TYPES, AtomTypePacker
from gmpool.data.sources.catalogue import CATALOGUE
from gmpool.data.sources.find_file import cache_dir, find, sha256, wrong_checksum
from gmpool.data.sources.table import SUFFIXES, read_csv
from gmpool.data.sources.tu import read_triangles, read_tu
from gmpool.data.splits import Split, random_split, stratified_folds, ten_folds
from gmpool.errors import DataError, unknown

_log = logging.getLogger(__name__)
Metric = Literal["accuracy", "roc_auc", "rmse"]
_METRICS: dict[Task, Metric] = {
    "multiclass": "accuracy",
    "binary": "roc_auc",
    "regression": "rmse",
}


@dataclass(frozen=True, eq=False)
class Dataset:
    """Graphs, the splits to use with them, and the score that is reported for them."""

    name: str
    graphs: PackedGraphs
    folds: tuple[Split, ...]
    """Ten for a TU set, one for a molecule table; none for unlabelled data without a split."""
    metric: Metric | None
    """None for unlabelled data."""
    skipped: tuple[str, ...] = ()
    """Rows of a table that were left out, as file:line: reason."""


def load(name_or_path: PathLike, root: PathLike | None = None) -> Dataset:
    """A dataset by name, or from a path: a table (.csv, .tsv, also .gz or .xz), a TU folder or
    zip, or a packed .safetensors file.

    Files of named sets are looked for in ``root``, else in $GMPOOL_DATA, then in the user's cache;
    TU sets are downloaded when missing. Checksums are verified.
    """
    name = os.fspath(name_or_path)
    if name in CATALOGUE:
        return _load_named(name, root)
    path = Path(name)
    if path.name.endswith(SUFFIXES):
        return load_table(path)
    if path.suffix == ".safetensors":
        return _with_folds(*store.read(path))
    if path.is_dir() or path.suffix == ".zip":
        return _with_folds(read_tu(path), None)
    if path.exists():
        raise DataError(
            f"{path}: not a kind of file that can be read (known: {', '.join(SUFFIXES)}, .zip, "
            ".safetensors, or a TU folder)"
        )
    if path.suffix or os.sep in name:
        raise DataError(f"{path}: no such file or folder")
    raise unknown("dataset", name, CATALOGUE)


def load_table(
    path: PathLike,
    *,
    smiles_column: str | None = None,
    label_columns: Sequence[str] | None = None,
    task: Task | None = None,
    split_column: str | None = None,
    skip_bad_rows: bool = False,
    atoms: Literal["features", "types"] = "features",
) -> Dataset:
    """A user's table; options as in :func:`gmpool.data.sources.table.read_csv`.

    Without a split column there is one random split, 80/10/10, always the same. ``atoms="types"``
    makes a set like ZINC, whose atom types are the target: one category per atom, named in
    ``node_type_names``, bonds single, double or triple, and no label unless its column is named.
    """
    if atoms not in ("features", "types"):
        raise unknown("kind of atoms", atoms, ("features", "types"))
    types = atoms == "types"
    if types and label_columns is None:
        label_columns = ()
    graphs, split, skipped = read_csv(
        path,
        smiles_column,
        label_columns,
        task,
        split_column,
        skip_bad_rows,
        AtomTypePacker() if types else None,
    )
    if split is None and (types or graphs.y is not None) and graphs.num_graphs >= 3:
        split = random_split(graphs.num_graphs)
    return _with_folds(graphs, split, tuple(skipped))


def _with_folds(
    graphs: PackedGraphs, split: Split | None, skipped: tuple[str, ...] = ()
) -> Dataset:
    """A user's set: its own split, else ten stratified folds (fewer for fewer graphs)."""
    folds: tuple[Split, ...] = () if split is None else (split,)
    if not folds and graphs.y is not None and graphs.num_graphs >= 3:
        folds = stratified_folds(graphs.y, min(10, graphs.num_graphs))
    metric = None if graphs.task is None else _METRICS[graphs.task]
    return Dataset(graphs.name, graphs, folds, metric, skipped)


def _load_named(name: str, root: PathLike | None) -> Dataset:
    entry = CATALOGUE[name]
    path = find(name, root)
    found = "" if path.is_dir() else sha256(path)
    known = entry.files.get(path.name) == found
    if entry.kind == "tu":
        graphs = _read_tu_set(name, path, found, known)
        return Dataset(name, graphs, ten_folds(name), "accuracy")
    if not known:
        raise wrong_checksum(path, entry.files[path.name], found)
    cached = _cache_path(name, found)
    stored = _from_cache(cached)
    if stored is None:
        graphs, split = _read_molecules(name, path)
        _to_cache(graphs, cached, split)
    else:
        graphs, split = stored
    assert split is not None
    return Dataset(name, graphs, (split,), "roc_auc" if entry.outputs else None)


def _read_molecules(name: str, path: Path) -> tuple[PackedGraphs, Split | None]:
    if CATALOGUE[name].kind == "atoms":
        packer = AtomTypePacker(ZINC_TYPES)
        graphs, split, _ = read_csv(path, label_columns=(), packer=packer)
        return replace(graphs, name=name), split
    graphs, split, _ = read_csv(path, task="binary")
    return graphs, split


def _read_tu_set(name: str, path: Path, found: str, known: bool) -> PackedGraphs:
    """A file with other bytes than the known one is accepted when it holds the same graphs."""
    entry = CATALOGUE[name]
    if path.suffix == ".npz":
        if not known:
            raise wrong_checksum(path, entry.files[path.name], found)
        return read_triangles(path, name)
    cached = _cache_path(name, found)
    stored = _from_cache(cached) if found else None
    if stored is not None and (known or stored[0].digest == entry.content):
        return stored[0]
    graphs = read_tu(path, name=name)
    if not known and graphs.digest != entry.content:
        raise wrong_checksum(path, f"content {entry.content}", f"content {graphs.digest}")
    if found:
        _to_cache(graphs, cached, None)
    return graphs


def _cache_path(name: str, source: str) -> Path:
    return cache_dir() / store.FORMAT / f"{name}-{source[:16]}.safetensors"


def _from_cache(path: Path) -> tuple[PackedGraphs, Split | None] | None:
    """What was packed before from the same source; a damaged file is reported and not used."""
    if not path.exists():
        return None
    try:
        return store.read(path)
    except DataError as error:
        _log.warning("packing again: %s", error)
        return None


def _to_cache(graphs: PackedGraphs, path: Path, split: Split | None) -> None:
    try:
        store.write(graphs, path, split)
    except DataError as error:  # a full or read-only home costs time, not the result
        _log.warning("not cached: %s", error)
