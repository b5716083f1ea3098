"""PackedGraphs on disk: one safetensors file with a checksum, memory-mapped when read; and
what was packed before from the same source, in the user's cache."""

import json
import logging
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gmpool.atomic_files import PathLike, replacing
from gmpool.data.dataset import SOURCES, Dataset, Source
from gmpool.data.packed import PackedGraphs
from gmpool.data.sources.find_file import cache_dir
from gmpool.data.splits import Split
from gmpool.errors import DataError

_log = logging.getLogger(__name__)
FORMAT = "gmpool-packed-2"
Packed = tuple[PackedGraphs, Split | None]
_PARTS = ("train", "valid", "test")


def save(graphs: PackedGraphs, path: PathLike, split: Split | None = None) -> None:
    """Writes the set, and its split where it has one, to a safetensors file, all or nothing."""
    from safetensors.torch import save_file

    tensors = {name: tensor.cpu().contiguous() for name, tensor in graphs.tensors().items()}
    meta = dict(graphs.metadata())
    if "graph_names" in meta:  # may be large, and the header of a safetensors file is limited
        tensors["graph_names"] = _from_text(json.dumps(meta.pop("graph_names")))
    if split is not None:
        tensors |= {f"split.{part}": getattr(split, part) for part in _PARTS}
    header = {"format": FORMAT, "digest": graphs.digest, "meta": json.dumps(meta)}
    try:
        with replacing(path) as (temporary,):
            save_file(tensors, temporary, header)
    except Exception as error:  # safetensors has its own class for a full disk
        raise DataError(f"cannot write {path}: {error}") from error


def read(path: PathLike, verify: bool = True) -> Packed:
    """The set and its split. Memory-maps what ``save`` made; ``verify`` recomputes the digest and
    checks the content.
    """
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    try:
        with safe_open(str(path), framework="pt") as file:
            header = file.metadata() or {}
            if header.get("format") != FORMAT:
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
        graphs, split = _rebuild(tensors, json.loads(header["meta"]))
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: fields are missing or wrong ({error}); make it again") from error
    if verify:
        if graphs.digest != header.get("digest"):
            raise DataError(
                f"{path}: wrong checksum (expected {header.get('digest')}, found {graphs.digest}); "
                "the file is damaged: make it again"
            )
        graphs.validate()
    return graphs, split


def load_packed(path: PathLike, verify: bool = True) -> PackedGraphs:
    """The set alone; see :func:`read`."""
    return read(path, verify)[0]


def _rebuild(tensors: dict[str, Tensor], meta: dict[str, Any]) -> Packed:
    if "graph_names" in tensors:
        meta["graph_names"] = json.loads(tensors.pop("graph_names").numpy().tobytes())
    parts = {part: tensors.pop(f"split.{part}", None) for part in _PARTS}
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in meta.items()}
    values |= tensors
    extra = set(values) - {f.name for f in fields(PackedGraphs)}
    if extra:
        raise ValueError(f"unknown fields {', '.join(sorted(extra))}")
    graphs = PackedGraphs(**values)
    train, valid, test = (parts[part] for part in _PARTS)
    if train is None or valid is None or test is None:
        return graphs, None
    return graphs, Split(train, valid, test)


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


def _load(path: str, root: PathLike | None) -> Dataset:
    graphs, split = read(path)
    return Dataset.of(graphs, None if split is None else (split,))


def _is_packed(path: Path) -> bool:
    return path.suffix == ".safetensors" and not path.is_dir()


SOURCES.register("packed")(Source(load=_load, accepts=_is_packed, files=".safetensors"))
