"""PackedGraphs on disk: one safetensors file with a checksum, memory-mapped when read; and
what was packed before from the same source, in the user's cache."""

import hashlib
import json
import logging
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gmpool.atomic_files import PathLike, replacing
from gmpool.data import validity
from gmpool.data.dataset import SOURCES, Dataset, Source
from gmpool.data.make_splits import with_splits
from gmpool.data.molecule_groups import MoleculeGroups
from gmpool.data.packed import PackedGraphs
from gmpool.data.sources.find_file import cache_dir
from gmpool.data.sources.tensor_file import write_tensors
from gmpool.data.split_request import OPTIONS
from gmpool.data.splits import Split
from gmpool.data.validity import check_split
from gmpool.errors import DataError
from gmpool.plain_text import shortened

_log = logging.getLogger(__name__)
FORMAT = "gmpool-packed-3"
_BEFORE = "gmpool-packed-2"  # its checksum is that of the graphs, without the split
Packed = tuple[PackedGraphs, Split | None]
_PARTS = ("train", "valid", "test")


def save(graphs: PackedGraphs, path: PathLike, split: Split | None = None) -> None:
    """Writes the set, and its split where it has one, to a safetensors file, all or nothing."""
    if split is not None:
        check_split(split, len(graphs), graphs.name)
    tensors = {name: tensor.cpu().contiguous() for name, tensor in graphs.tensors().items()}
    meta = dict(graphs.metadata())
    if "graph_names" in meta:  # may be large, and the header of a safetensors file is limited
        tensors["graph_names"] = _from_text(json.dumps(meta.pop("graph_names")))
    if split is not None:
        tensors |= {f"split.{part}": getattr(split, part) for part in _PARTS}
    checksum = _checksum(graphs, split)
    header = {"format": FORMAT, "checksum": checksum, "meta": json.dumps(meta)}
    try:
        with replacing(path) as (temporary,):
            write_tensors(temporary, tensors, header)
    except OSError as error:
        raise DataError(f"cannot write {path}: {error}") from error


def read(path: PathLike, verify: bool = True) -> Packed:
    """The set and its split. Memory-maps what ``save`` made; ``verify`` recomputes the checksum
    and checks the content.

    A file of the format before this one is read; that its split is not under its checksum is
    logged.
    """
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    try:
        with safe_open(str(path), framework="pt") as file:
            header = file.metadata() or {}
            if header.get("format") not in (FORMAT, _BEFORE):
                raise DataError(
                    f"{path}: not a packed dataset of this version "
                    f"(format {header.get('format')!r}, expected {FORMAT!r}); pack it again"
                )
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise DataError(
            f"{path}: not a readable safetensors file ({error}); it may be truncated: make it again"
        ) from error
    try:
        graphs, split = _rebuild(tensors, header.get("meta", ""))
        validity.check_types(graphs)
        if split is not None:
            check_split(split, len(graphs), graphs.name)
        if verify:
            _check_sum(graphs, split, header, path)
            validity.check(graphs)
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: damaged or no packed dataset ({error}); make it again") from error
    return graphs, split


def _check_sum(
    graphs: PackedGraphs, split: Split | None, header: dict[str, str], path: Path
) -> None:
    if header["format"] == FORMAT:
        expected, found = header.get("checksum"), _checksum(graphs, split)
    else:
        expected, found = header.get("digest"), graphs.digest
        if split is not None:
            _log.warning("%s: the checksum does not cover the split; save it again", path)
    if found != expected:
        raise ValueError(f"wrong checksum: expected {expected}, found {found}")


def _checksum(graphs: PackedGraphs, split: Split | None) -> str:
    """SHA-256 of everything in the file."""
    parts = f"{graphs.digest} {None if split is None else split.digest}"
    return hashlib.sha256(parts.encode()).hexdigest()


def load_packed(path: PathLike, verify: bool = True) -> PackedGraphs:
    """The set alone; see :func:`read`."""
    return read(path, verify)[0]


def _rebuild(tensors: dict[str, Tensor], header: str) -> Packed:
    meta = json.loads(header)
    if not isinstance(meta, dict):
        raise ValueError("the header's meta is no table")
    if "graph_names" in tensors:
        text = tensors.pop("graph_names")
        if text.dtype != torch.uint8 or text.dim() != 1:
            raise ValueError(f"graph_names is no text (got {text.dtype} {list(text.shape)})")
        meta["graph_names"] = json.loads(text.numpy().tobytes())
    parts = [tensors.pop(f"split.{part}", None) for part in _PARTS]
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in meta.items()}
    twice = values.keys() & tensors.keys()
    extra = (values.keys() | tensors.keys()) - {f.name for f in fields(PackedGraphs)}
    if extra or twice:
        names = ", ".join(map(repr, sorted(extra | twice)))
        raise ValueError(f"unknown fields {shortened(names)}")
    graphs = PackedGraphs(**(values | tensors))
    given = [part for part in parts if part is not None]
    if given and len(given) < len(parts):
        raise ValueError(f"a split needs the parts {', '.join(_PARTS)}")
    return graphs, Split(*given) if given else None


def _from_text(text: str) -> Tensor:
    return torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8)


def packed_once(name: str, source: str, make: Callable[[], Packed]) -> Packed:
    """What ``make`` gives, or gave before for the same ``source``, the digest of a file.

    A damaged file in the cache, or one that cannot be written, costs time and not the result.
    """
    path = cache_dir() / FORMAT / f"{name}-{source[:16]}.safetensors"
    if path.exists():
        try:
            return read(path)
        except DataError as error:
            _log.warning("packing again: %s", error)
    made = make()
    try:
        save(made[0], path, made[1])
    except DataError as error:
        _log.warning("not cached: %s", error)
    return made


def _load(path: str, root: PathLike | None, **split_options: Any) -> Dataset:
    graphs, split = read(path)
    folds = None if split is None else (split,)
    dataset = Dataset.of(graphs, folds, molecules=MoleculeGroups.of(graphs))
    return with_splits(dataset, **split_options)


def _is_packed(path: Path) -> bool:
    return path.suffix == ".safetensors" and not path.is_dir()


SOURCES.register("packed")(
    Source(
        load=_load,
        accepts=_is_packed,
        files=".safetensors",
        options=OPTIONS,
        what="a packed .safetensors file",
    )
)
