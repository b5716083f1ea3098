"""The sets of the catalogue: TU sets, found or downloaded, with their published folds; and tables
of molecules with a known split. They are verified, and packed once."""

import importlib.util
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

from gmpool.atomic_files import PathLike
from gmpool.data.dataset import SOURCES, Dataset, Source
from gmpool.data.packed import PackedGraphs
from gmpool.data.sources.atom_types import ZINC_TYPES, AtomTypePacker
from gmpool.data.sources.catalogue import CATALOGUE, dataset_names
from gmpool.data.sources.find_file import cache_dir, download, find, missing, sha256, wrong_checksum
from gmpool.data.sources.packed_file import Packed, packed_once
from gmpool.data.sources.table import read_csv
from gmpool.data.sources.triangles import read_triangles
from gmpool.data.sources.tu import read_tu
from gmpool.data.splits import published_folds, random_split, ten_folds
from gmpool.data.validity import check_split

_log = logging.getLogger(__name__)
HOME = "https://www.chrsmrrs.com/graphkerneldatasets"


def load_tu_set(name: str, root: PathLike | None = None) -> Dataset:
    """A TU set by name, with the published folds where there are any, else stratified ones."""
    path = find_tu_set(name, root)
    graphs = _read_archive(name, path)
    folds = ten_folds(name) if name in published_folds() else None
    for fold in folds or ():
        check_split(fold, len(graphs), str(path))
    return replace(Dataset.of(graphs, folds, split_reason="published"), split_kind={})


def find_tu_set(name: str, root: PathLike | None = None) -> Path:
    """The archive, or the folder of its text files; downloaded when there is neither."""
    files = CATALOGUE[name].files or (f"{name}.zip",)
    texts = (f"{name}/{name}_A.txt", f"{name}/raw/{name}_A.txt")
    found = find([*files, *texts], root)
    if found is not None:
        return found.parent if found.name.endswith("_A.txt") else found
    if name == "MUTAG" and (bundled := _grakel_mutag()):
        return bundled
    url = f"{HOME}/{name}.zip"
    entry, limit = CATALOGUE[name], CATALOGUE[name].download_mb << 20
    # Where the graphs are known, other bytes that hold them are as good: they are verified later.
    expected = None if entry.content else entry.files.get(f"{name}.zip")
    try:
        return download(url, cache_dir() / f"{name}.zip", limit=limit, expected=expected)
    except OSError as error:
        raise missing(name, files, f"{url} cannot be fetched: {error}", root) from error


def _grakel_mutag() -> Path | None:
    """The MUTAG copy among the tests of an installed grakel, found without importing it."""
    spec = importlib.util.find_spec("grakel")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "tests" / "data" / "MUTAG"
    return folder if (folder / "MUTAG_A.txt").is_file() else None


def _read_archive(name: str, path: Path) -> PackedGraphs:
    """A file with other bytes than the known one is accepted when it holds the known graphs."""
    expected, content = CATALOGUE[name].files.get(path.name, ""), CATALOGUE[name].content
    if path.is_dir():
        graphs, found = read_tu(path, name=name), ""
    else:
        found = sha256(path)
        if path.suffix == ".npz":
            if found != expected:
                raise wrong_checksum(path, expected, found)
            return read_triangles(path, name)
        graphs, _ = packed_once(name, found, lambda: (read_tu(path, name=name), None))
    if content and found != expected and graphs.digest != content:
        raise wrong_checksum(path, f"content {content}", f"content {graphs.digest}")
    if expected and not content and found != expected:
        raise wrong_checksum(path, expected, found)
    return graphs


def load_molecule_set(name: str, root: PathLike | None = None) -> Dataset:
    """A molecule set by name, with the split of its table, else a random one."""
    path = find_molecule_set(name, root)
    entry, found = CATALOGUE[name], sha256(path)
    expected = entry.files.get(path.name, "")
    if expected and found != expected:
        raise wrong_checksum(path, expected, found)
    graphs, split = packed_once(name, found, lambda: _read_table(name, path))
    if entry.content and graphs.digest != entry.content:
        _log.warning(
            "%s: RDKit reads these molecules as graphs with digest %s, not %s as they are recorded",
            name,
            graphs.digest,
            entry.content,
        )
    reason = "published" if split else "random, always the same"
    return Dataset.of(graphs, (split or random_split(len(graphs)),), split_reason=reason)


def find_molecule_set(name: str, root: PathLike | None = None) -> Path:
    """Its table."""
    files = CATALOGUE[name].files or (f"{name}.csv.gz",)
    found = find(files, root)
    if found is None:
        raise missing(name, files, "it is not fetched automatically", root)
    return found


def _read_table(name: str, path: Path) -> Packed:
    options: dict[str, Any] = {} if CATALOGUE[name].outputs else {"label_columns": ()}
    if CATALOGUE[name].kind == "atoms":
        options["packer"] = AtomTypePacker(ZINC_TYPES)
    graphs, split, _ = read_csv(path, **options)
    return replace(graphs, name=name), split


SOURCES.register("molecule-set")(
    Source(load=load_molecule_set, names=lambda: dataset_names("molecules", "atoms"))
)
SOURCES.register("tu-set")(Source(load=load_tu_set, names=lambda: dataset_names("tu")))
