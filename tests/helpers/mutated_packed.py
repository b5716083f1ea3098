"""Packed files as damage or bad will may leave them."""

from __future__ import annotations

import functools
import json
import random
import struct
import tempfile
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch_geometric.data import Data

from gmpool.data import from_pyg, random_split, save

JUNK: list[Any] = [
    None, True, -1, 0, 1, 2**31, 2**63, 10**30, 1.5, float("nan"), "", "x", "multiclass", "binary",
    "regression", [], [[]], {}, [1, "a"], ["a", "b"], [0], [-1], [2**70], "\x1b[31m", "\ud800",
]  # fmt: skip
TEXTS = ["", "[]", "null", "1", "[" * 100_000, "9" * 6000, '{"name": 1}', "\x00"]
DTYPES = [
    torch.int8, torch.int32, torch.int64, torch.float32, torch.float64, torch.bool, torch.float16,
    torch.bfloat16, torch.complex64, torch.uint8,
]  # fmt: skip
NAMES = ["BOOL", "I8", "U16", "F16", "BF16", "U32", "F64", "I64", "U64", "F8_E4M3", "X"]


@functools.cache
def originals() -> list[bytes]:
    """A set with every numeric field and a split, and one of categories without labels."""
    ring = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    numeric = from_pyg(
        [
            Data(x=torch.rand(3, 2), edge_index=ring, edge_attr=torch.rand(4, 1),
                 edge_weight=torch.rand(4), y=torch.tensor([i % 2]))
            for i in range(6)
        ]
    )  # fmt: skip
    categories = from_pyg([Data(x=torch.tensor([[0], [1], [2]]), edge_index=ring)] * 4)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for graphs, split in ((numeric, random_split(6)), (categories, None)):
            save(graphs, Path(folder, "set"), split)
            found.append(Path(folder, "set").read_bytes())
    return found


def mutated_packed_file(rng: random.Random, path: Path) -> None:
    """Writes one."""
    path.unlink(missing_ok=True)  # what was read before may still be mapped
    content = rng.choice(originals())
    how = rng.choice([_flipped, _cut, _filled, _other_header, _other_tensors, _other_tensors])
    if how is _other_tensors:
        path.write_bytes(content)
        _other_tensors(rng, path)
    else:
        path.write_bytes(how(rng, content))


def _flipped(rng: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 3, 20])):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _cut(rng: random.Random, content: bytes) -> bytes:
    return content[: rng.randrange(len(content))]


def _filled(rng: random.Random, content: bytes) -> bytes:
    at = rng.randrange(len(content))
    return content[:at] + rng.randbytes(rng.choice([1, 8, 100])) + content[at:]


def _other_header(rng: random.Random, content: bytes) -> bytes:
    end = 8 + struct.unpack("<Q", content[:8])[0]
    header, body = json.loads(content[8:end]), content[end:]
    names = [name for name in header if name != "__metadata__"]
    one, two = rng.sample(names, 2)
    texts = header["__metadata__"]
    meta = json.loads(texts["meta"])
    match rng.randrange(7):
        case 0 | 1:
            meta[rng.choice([*meta, "graph_names", "cat_starts", "extra", "y"])] = rng.choice(JUNK)
            texts["meta"] = json.dumps(meta)
        case 2:
            texts[rng.choice([*texts])] = rng.choice(TEXTS)
        case 3:
            header[one]["dtype"] = rng.choice(NAMES)
        case 4:
            shape = header[one]["shape"]
            header[one]["shape"] = rng.choice([[], [0], [2**62], shape[::-1], [*shape, 1], [-1]])
        case 5:
            header[one], header[two] = header[two], header[one]
        case 6:
            header[rng.choice(["split.train", "y", "col", "extra"])] = header.pop(one)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def _other_tensors(rng: random.Random, path: Path) -> None:
    with safe_open(str(path), framework="pt") as file:
        header = dict(file.metadata())
    tensors = {name: tensor.clone() for name, tensor in load_file(path).items()}
    for _ in range(rng.choice([1, 1, 2])):
        name = rng.choice([*tensors])
        tensors[name] = _changed(rng, tensors[name]).contiguous().clone()
    path.unlink()
    save_file(tensors, path, header)


def _changed(rng: random.Random, tensor: Tensor) -> Tensor:
    match rng.randrange(6):
        case 0 if tensor.numel():
            values = [0, 1, 9, 120]
            if tensor.is_floating_point():
                values = [float("nan"), float("inf"), -1.0, 1e38]
            elif tensor.dtype == torch.int64:
                values = [-1, -(2**63), 2**63 - 1, 0, 1, 9]
            tensor.view(-1)[rng.randrange(tensor.numel())] = rng.choice(values)
            return tensor
        case 1:
            return tensor[:-1]
        case 2:
            return torch.cat([tensor, tensor])
        case 3:
            return tensor.to(rng.choice(DTYPES))
        case 4:
            return tensor.reshape(-1) if tensor.dim() == 2 else tensor.unsqueeze(rng.randrange(2))
        case _:
            return tensor.flip(0)
