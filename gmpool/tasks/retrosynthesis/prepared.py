"""A prepared set of reactions: templates, candidates of every product and their graphs, as numbers.

One file holds all of it. It is read without RDKit, so that it travels to where the GPU is.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import struct
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from gmpool.atomic_files import replacing
from gmpool.errors import DataError
from gmpool.tasks.retrosynthesis.library import TemplateLibrary

VERSION = 1
ENDING = ".retro"
_MARK = b"gmpool retro\n"
_PRESET = 6  # of xz: it takes minutes for a large set, and is for travelling
_PART = 2**25
_TEXT = "smiles"
"""The array that only those need who show molecules."""
ARRAYS = {
    "atoms": "int64",
    **{
        f"{table}.{part}": kind
        for table in ("centers", "fragments", "molecules")
        for part, kind in (
            ("sizes", "uint8"), ("atoms", "uint16"), ("degrees", "uint8"), ("neighbours", "uint8")
        )
    },
    "products.molecule": "int32",
    "products.center_counts": "uint16", "products.centers": "uint16",
    "products.run_counts": "uint16", "products.templates": "int32",
    "products.made_counts": "uint16", "products.made": "uint16",
    "products.outcome_counts": "uint16", "products.molecule_counts": "uint8",
    "products.outcomes": "int32",
    "reactions.product": "int32", "reactions.group": "int16", "reactions.truth": "int32",
    "reactions.part": "uint8", "reactions.line": "int32",
    _TEXT: "uint8",
}  # fmt: skip
"""The arrays of a file, flat, and their types.

atoms: the distinct numbers of atoms (`features.py`); graphs name them by their place. neighbours:
of each atom, counted within its graph.
products: of each distinct product the centers that match, the templates that made something, with
what each made, as numbers of its outcomes, and its outcomes as numbers of molecules.
reactions: part 0 is for training, 1 for validation, 2 for test; truth is the outcome, or -1.
smiles: of all molecules, a line for each; may be empty.
"""


@dataclass(frozen=True)
class Prepared:
    """about: what the header says beside the templates: name, and counts of what was left out."""

    library: TemplateLibrary
    about: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]

    @property
    def name(self) -> str:
        return str(self.about["name"])

    @cached_property
    def digest(self) -> str:
        """Of the content, but for the SMILES."""
        state = hashlib.sha256(self.library.digest.encode())
        for name in sorted(set(self.arrays) - {_TEXT}):
            state.update(f"{name} {self.arrays[name].shape}\n".encode())
            state.update(self.arrays[name].tobytes())
        return state.hexdigest()

    @cached_property
    def smiles(self) -> list[str]:
        """Of the molecules."""
        text = self.arrays[_TEXT].tobytes().decode("ascii")
        if not text:
            raise DataError(f"{self.name}: was prepared without SMILES, so none can be shown")
        return text.splitlines()

    def save(self, path: Path, *, smiles: bool = True) -> None:
        """smiles: whether they come along; without them it can be trained on and scored."""
        arrays = dict(self.arrays)
        if not smiles:
            arrays[_TEXT] = arrays[_TEXT][:0]
        header = {
            "version": VERSION,
            "digest": self.digest,
            "about": dict(self.about),
            "library": self.library.to_json(),
            "lengths": {name: len(arrays[name]) for name in ARRAYS},
        }
        words = lzma.compress(json.dumps(header).encode(), preset=_PRESET)
        with replacing(path) as (temporary,), temporary.open("wb") as file:
            file.write(_MARK + struct.pack("<Q", len(words)) + words)
            data = b"".join(arrays[name].tobytes() for name in ARRAYS)
            parts = (data[at : at + _PART] for at in range(0, len(data), _PART))
            # Streams one after the other are one file; xz lets other threads work meanwhile.
            with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
                for packed in pool.map(partial(lzma.compress, preset=_PRESET), parts):
                    file.write(packed)

    @classmethod
    def load(cls, path: Path) -> Prepared:
        """Raises DataError for what is no such file, or a damaged one."""
        try:
            data = path.read_bytes()
        except OSError as error:
            raise DataError(f"{path}: cannot be read ({error.strerror})") from error
        if not data.startswith(_MARK):
            raise DataError(
                f"{path}: is no prepared set of reactions; make one with: gmpool retro prepare"
            )
        at = len(_MARK) + 8
        try:
            (length,) = struct.unpack("<Q", data[len(_MARK) : at])
            header = json.loads(lzma.decompress(data[at : at + length]))
            if header["version"] != VERSION:
                raise DataError(
                    f"{path}: was prepared by another version of gmpool "
                    f"({header['version']}, not {VERSION}); prepare it once more"
                )
            made = cls(
                TemplateLibrary.from_json(header["library"]),
                header["about"],
                _arrays(lzma.decompress(data[at + length :]), header["lengths"]),
            )
        except (lzma.LZMAError, struct.error, ValueError, KeyError, TypeError, EOFError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{path}: is damaged ({error}); prepare it once more") from error
        if made.digest != header["digest"]:
            raise DataError(f"{path}: is damaged: its content is not what its header says")
        return made


def _arrays(data: bytes, lengths: Mapping[str, int]) -> dict[str, np.ndarray]:
    found, at = {}, 0
    for name, kind in ARRAYS.items():
        count = int(lengths[name])
        found[name] = np.frombuffer(data, dtype=kind, count=count, offset=at)
        at += found[name].nbytes
    if at != len(data):
        raise DataError("there are more numbers than the header says")
    return found
