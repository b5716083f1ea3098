"""A safetensors file that is written from tensors as they lie, in memory or in other files: the
package's own writer copies all of them first."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

_NAMES = {
    torch.float32: "F32", torch.int64: "I64", torch.int32: "I32", torch.int16: "I16",
    torch.uint8: "U8",
}  # fmt: skip
_ALIGNED = 8


def write_tensors(path: Path, tensors: Mapping[str, Tensor], notes: Mapping[str, str]) -> None:
    """All of them and the notes; tensors are contiguous and on the host."""
    # The widest first, so that each begins at a multiple of its width.
    order = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
    header: dict[str, object] = {"__metadata__": dict(notes)}
    end = 0
    for name in order:
        tensor = tensors[name]
        begin, end = end, end + tensor.numel() * tensor.element_size()
        header[name] = {
            "dtype": _NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNED)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in order:
            tensor = tensors[name].detach()
            if tensor.numel():
                file.write(tensor.view(-1).numpy().data)
