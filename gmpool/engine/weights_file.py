"""A safetensors file that anybody may have written: what it says it holds is looked at before any
of it is read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor

from gmpool.errors import CheckpointError

AGAIN = "copy the folder again, or train again"
LONGEST = 2**26
"""Bytes of a header; the names of a million classes are shorter."""
DTYPES = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
    torch.int64: "I64", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8",
    torch.uint8: "U8", torch.bool: "BOOL",
}  # fmt: skip


class WeightsFile:
    """Is open, so that what is read of it is of one file, even while another takes its place."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise self._unreadable(error) from error
        try:
            self.start, header = self._header()
        except (OSError, ValueError, RecursionError) as error:
            self._file.close()
            raise self._unreadable(error) from error
        self.notes: Mapping[str, Any] = header.pop("__metadata__", {})
        self.tensors = header

    def __enter__(self) -> WeightsFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _header(self) -> tuple[int, dict[str, Any]]:
        """(where the numbers begin, what is where). A ValueError says what is wrong."""
        size = self.path.stat().st_size
        start = 8 + int.from_bytes(self._file.read(8), "little")
        if not 8 < start <= min(size, LONGEST):
            raise ValueError(f"a header of {start - 8} bytes in a file of {size}")
        header = json.loads(self._file.read(start - 8).decode())
        if not isinstance(header, dict) or not isinstance(header.get("__metadata__", {}), dict):
            raise ValueError("the header is no object")
        end = start
        for name, tensor in header.items():
            if name != "__metadata__":
                end = max(end, start + _checked(name, tensor))
        if end != size:
            raise ValueError(f"it has {size} bytes and needs {end}")
        return start, header

    def _unreadable(self, why: object) -> CheckpointError:
        return CheckpointError(
            f"{self.path} cannot be read ({why}); it may be cut off or not a safetensors file; "
            f"{AGAIN}"
        )

    def digest(self) -> str:
        """Of the numbers."""
        self._file.seek(self.start)
        return hashlib.file_digest(self._file, "sha256").hexdigest()

    def require(self, expected: Mapping[str, Tensor]) -> None:
        """Raises unless names, types and shapes are those of tensors, which need hold nothing."""
        wanted = {k: f"{tuple(v.shape)} {DTYPES[v.dtype]}" for k, v in expected.items()}
        found = {k: f"{tuple(v['shape'])} {v['dtype']}" for k, v in self.tensors.items()}
        names = sorted(k for k in wanted.keys() | found.keys() if wanted.get(k) != found.get(k))
        if names:
            first = names[0]
            raise CheckpointError(
                f"{self.path} does not fit the model: {first} is {found.get(first, 'missing')} in "
                f"the file and {wanted.get(first, 'unknown')} in the model ({len(names)} of "
                f"{len(wanted)} tensors differ); {AGAIN}"
            )

    def read(self) -> dict[str, Tensor]:
        """All tensors, by name. They are numbers."""
        self._file.seek(0)
        try:
            weights: dict[str, Tensor] = load(self._file.read())
        except (OSError, SafetensorError) as error:
            raise self._unreadable(error) from error
        for name, tensor in weights.items():
            if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
                raise CheckpointError(
                    f"{self.path}: {name} holds NaN or infinity, with which nothing can be "
                    f"predicted; {AGAIN}"
                )
        return weights


def _checked(name: str, tensor: Any) -> int:
    """Where a tensor of a header ends."""
    if isinstance(tensor, dict) and tensor.keys() == {"dtype", "shape", "data_offsets"}:
        shape, offsets = tensor["shape"], tensor["data_offsets"]
        lists = isinstance(shape, list) and isinstance(offsets, list) and len(offsets) == 2
        if lists and all(type(n) is int and 0 <= n < 2**63 for n in shape + offsets):
            return int(offsets[1])
    raise ValueError(f"the header says nothing of use of {name:.60}")
