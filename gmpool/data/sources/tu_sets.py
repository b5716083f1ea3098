"""The TU sets of the catalogue: found or downloaded, verified, with their published folds."""

from __future__ import annotations

import http.client
import importlib.util
from pathlib import Path

from gmpool.atomic_files import PathLike
from gmpool.data.dataset import SOURCES, Dataset, Source
from gmpool.data.packed import PackedGraphs
from gmpool.data.sources.catalogue import CATALOGUE, dataset_names
from gmpool.data.sources.find_file import (
    cache_dir,
    download,
    find,
    missing,
    sha256,
    wrong_checksum,
)
from gmpool.data.sources.packed_file import packed_once
from gmpool.data.sources.triangles import read_triangles
from gmpool.data.sources.tu import read_tu
from gmpool.data.splits import published_folds, ten_folds

HOME = "https://www.chrsmrrs.com/graphkerneldatasets"


def load_tu_set(name: str, root: PathLike | None = None) -> Dataset:
    """A TU set by name, with the published folds where there are any, else stratified ones."""
    graphs = _read(name, find_tu_set(name, root))
    return Dataset.of(graphs, ten_folds(name) if name in published_folds() else None)


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
    try:
        return download(url, cache_dir() / f"{name}.zip")
    except (OSError, http.client.HTTPException) as error:
        raise missing(name, files, f"{url} cannot be fetched: {error}", root) from error


def _grakel_mutag() -> Path | None:
    """The MUTAG copy among the tests of an installed grakel, found without importing it."""
    spec = importlib.util.find_spec("grakel")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "tests" / "data" / "MUTAG"
    return folder if (folder / "MUTAG_A.txt").is_file() else None


def _read(name: str, path: Path) -> PackedGraphs:
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


SOURCES.register("tu-set")(Source(load=load_tu_set, names=lambda: dataset_names("tu")))
