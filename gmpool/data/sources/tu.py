"""The TU text format: a folder or zip with NAME_A.txt, NAME_graph_indicator.txt and so on.

Morris et al., "TUDataset: A collection of benchmark datasets for learning with graphs", 2020.
"""

import io
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
import torch
from numpy.typing import NDArray

from gmpool.atomic_files import PathLike
from gmpool.data.dataset import SOURCES, Dataset, Source
from gmpool.data.pack import pack
from gmpool.data.packed import PackedGraphs
from gmpool.errors import DataError


def read_tu(
    path: PathLike,
    *,
    name: str | None = None,
    degree_features: bool | None = None,
    max_degree: int | None = None,
    edge_features: bool = False,
    labelled: bool = True,
) -> PackedGraphs:
    """Reads a TU set: the graphs that PyG's ``TUDataset(use_node_attr=True)`` gives.

    Self-loops are dropped and parallel edges merged. Node attributes are numeric features, node
    labels categorical ones (counted from their minimum); edge labels and attributes are read only
    with ``edge_features``. ``degree_features`` adds the degree as a categorical feature; None adds
    it when the set has no other node feature. ``labelled=False`` reads no graph labels.
    """
    files = _Files(Path(path), name)
    owner = files.read("graph_indicator", np.int64)[:, 0]  # [N], from 1
    classes, y = np.empty(0), None
    num_graphs = int(owner[-1])
    if labelled:
        classes, inverse = np.unique(files.read("graph_labels", np.int64), return_inverse=True)
        y = torch.from_numpy(inverse.reshape(-1))
        num_graphs = len(y)
    _check_indicator(owner, num_graphs, files.where("graph_indicator"))
    sizes = torch.from_numpy(np.bincount(owner - 1, minlength=num_graphs))

    edges = files.read("A", np.int32, columns=2)  # [E, 2]: source, target, from 1
    _check_edges(edges, owner, files.where("A"))
    node = _features(files, "node", len(owner))
    graphs = pack(
        name=files.name,
        sizes=sizes,
        source=torch.from_numpy(edges[:, 0] - 1).long(),
        target=torch.from_numpy(edges[:, 1] - 1).long(),
        simple=True,
        y=y,
        task="multiclass" if labelled else None,
        class_names=tuple(str(c) for c in classes),
        task_names=("label",) if labelled else (),
        **node,
        **(_features(files, "edge", len(edges)) if edge_features else {}),
    )
    if degree_features or (degree_features is None and not node):
        graphs = graphs.with_degree_features(max_degree)
    return graphs


class _Files:
    """The text files of one set, in a folder or in a zip, by the part of the name behind NAME_."""

    def __init__(self, path: Path, name: str | None) -> None:
        self.path = path
        self._open: Callable[[str], IO[bytes]]
        if path.is_dir():
            self._names = {p.name: p.name for p in path.glob("*.txt")}
            self._open = lambda entry: (path / entry).open("rb")
        elif path.is_file():
            try:
                archive = zipfile.ZipFile(path)
            except (zipfile.BadZipFile, OSError) as error:
                raise DataError(f"{path}: not a readable zip file ({error})") from error
            self._names = {Path(entry).name: entry for entry in archive.namelist()}
            self._open = archive.open
        else:
            raise DataError(f"{path}: no such file or folder")
        self.name = name or self._guess()

    def _guess(self) -> str:
        found = sorted(n.removesuffix("_A.txt") for n in self._names if n.endswith("_A.txt"))
        if len(found) != 1:
            what = f"several ({', '.join(found)})" if found else "none"
            raise DataError(f"{self.path}: expected one file NAME_A.txt, found {what}")
        return found[0]

    def __contains__(self, part: str) -> bool:
        return f"{self.name}_{part}.txt" in self._names

    def where(self, part: str) -> str:
        return str(self.path / f"{self.name}_{part}.txt")

    def read(
        self,
        part: str,
        dtype: type[np.generic],
        columns: int | None = None,
        rows: int | None = None,
    ) -> NDArray[Any]:
        if part not in self:
            raise DataError(f"{self.where(part)}: no such file; a TU set needs it")
        try:
            with self._open(self._names[f"{self.name}_{part}.txt"]) as file:
                table = read_numbers(file, self.where(part), dtype, columns)
        except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError) as error:
            raise DataError(f"{self.where(part)}: cannot be read ({error})") from error
        if rows is not None and len(table) != rows:
            raise DataError(f"{self.where(part)}: {len(table)} lines, expected {rows}")
        return table


def _features(files: _Files, kind: str, rows: int) -> dict[str, Any]:
    """Numeric and categorical features of nodes or edges, where the set has them."""
    found: dict[str, Any] = {}
    if f"{kind}_attributes" in files:
        table = files.read(f"{kind}_attributes", np.float32, rows=rows)
        found[f"{kind}_float"] = torch.from_numpy(table)
    if f"{kind}_labels" in files:
        labels = files.read(f"{kind}_labels", np.int64, rows=rows)
        starts = labels.min(0)
        labels = labels - starts
        found[f"{kind}_cat"] = torch.from_numpy(labels)
        if kind == "node" and starts.any():
            found["cat_starts"] = tuple(starts.tolist())
        sizes = tuple(int(v) + 1 for v in labels.max(0))
        found["cat_sizes" if kind == "node" else "edge_cat_sizes"] = sizes
    return found


def _check_indicator(owner: NDArray[np.int64], num_graphs: int, where: str) -> None:
    bad = (owner < 1) | (owner > num_graphs)
    if bad.any():
        line = int(bad.argmax())
        raise DataError(f"{where}:{line + 1}: graph {owner[line]} is not in 1..{num_graphs}")
    falls = owner[1:] < owner[:-1]
    if falls.any():
        raise DataError(f"{where}:{int(falls.argmax()) + 2}: graph numbers must not fall")


def _check_edges(edges: NDArray[np.int32], owner: NDArray[np.int64], where: str) -> None:
    bad = ((edges < 1) | (edges > len(owner))).any(1)
    if bad.any():
        line = int(bad.argmax())
        raise DataError(
            f"{where}:{line + 1}: edge {edges[line, 0]}, {edges[line, 1]} names a missing node "
            f"(nodes are 1..{len(owner)})"
        )
    crossing = owner[edges[:, 0] - 1] != owner[edges[:, 1] - 1]
    if crossing.any():
        line = int(crossing.argmax())
        ends = owner[edges[line] - 1]
        raise DataError(f"{where}:{line + 1}: edge between graph {ends[0]} and graph {ends[1]}")


SOURCES.register("tu")(
    Source(
        load=lambda path, root, **options: Dataset.of(read_tu(path, **options)),
        options={"labelled": ""},
        accepts=lambda path: path.is_dir() or path.suffix == ".zip",
        files=".zip, a TU folder",
    )
)


_BLOCK = 1 << 24  # bytes; a set of 360 MB of text is read without ever holding it


def read_numbers(
    file: IO[bytes], where: str, dtype: type[np.generic], columns: int | None = None
) -> NDArray[np.generic]:
    """[lines, columns] from comma-separated text; ``columns=None`` takes the first line's count."""
    blocks: list[NDArray[np.generic]] = []
    rest, done = b"", 0
    while block := file.read(_BLOCK):
        whole, newline, rest = (rest + block).rpartition(b"\n")
        if newline:
            blocks.append(_parse(whole, where, dtype, columns, done))
            columns, done = blocks[-1].shape[1], done + len(blocks[-1])
    if rest.strip():
        blocks.append(_parse(rest, where, dtype, columns, done))
    if not sum(len(b) for b in blocks):
        raise DataError(f"{where}: the file is empty")
    return np.concatenate(blocks)


def _parse(
    text: bytes, where: str, dtype: type[np.generic], columns: int | None, done: int
) -> NDArray[np.generic]:
    text = text.rstrip()
    lines = text.count(b"\n") + 1 if text else 0
    if columns is None:
        columns = text.partition(b"\n")[0].count(b",") + 1
    if lines == 0:
        return np.empty((0, columns), dtype)
    # Every line break becomes a comma, so the count of commas per line is checked by the total
    # here and line by line only when the total is wrong.
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            kind = np.int64 if issubclass(dtype, np.integer) else np.float64
            values = np.fromstring(text.replace(b"\n", b","), dtype=kind, sep=",")
        except (DeprecationWarning, ValueError):
            _explain(text, where, dtype, columns, done)
    if len(values) != lines * columns or text.count(b",") != lines * (columns - 1):
        _explain(text, where, dtype, columns, done)
    table = values.reshape(lines, columns)
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise DataError(
            f"{where}:{done + row + 1}: value {column + 1} is {table[row, column]}, not a number"
        )
    return table.astype(dtype)


def _explain(text: bytes, where: str, dtype: type[np.generic], columns: int, done: int) -> NoReturn:
    """Finds the first bad line and says what is wrong with it."""
    whole = issubclass(dtype, np.integer)
    for number, line in enumerate(io.BytesIO(text), start=done + 1):
        tokens = line.decode(errors="replace").strip().split(",")
        if tokens == [""]:
            raise DataError(f"{where}:{number}: the line is blank")
        for token in tokens:
            try:
                int(token) if whole else float(token)
            except ValueError:
                kind = "a whole number" if whole else "a number"
                raise DataError(f"{where}:{number}: {token.strip()!r} is not {kind}") from None
        if len(tokens) != columns:
            raise DataError(f"{where}:{number}: {len(tokens)} values, expected {columns}")
    raise DataError(f"{where}: cannot be read as lines of {columns} numbers")
