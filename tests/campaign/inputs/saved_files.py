"""Packed sets and saved models whose bytes, headers and tensors are damaged; also so that their
checksums are right again, as by somebody who means it."""

from __future__ import annotations

import csv
import hashlib
import json
import random
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from gmpool.data import load, load_packed
from gmpool.engine.checkpoint import load_model
from gmpool.errors import UserError
from tests.campaign.inputs.batches import Inputs, accepted, claim, materials
from tests.campaign.inputs.tables import check
from tests.campaign.materials import FLAGS
from tests.campaign.mutate import damaged_bytes, damaged_json

VALUES = (0, 1, -1, 2**31, 2**40, -(2**62), float("nan"), float("inf"), 1e30, 255, 127)


def split_file(raw: bytes) -> tuple[dict[str, Any], bytes]:
    size = int.from_bytes(raw[:8], "little")
    return json.loads(raw[8 : 8 + size]), raw[8 + size :]


def joined(header: Any, body: bytes) -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def damaged_header(rng: random.Random, raw: bytes) -> bytes:
    header, body = split_file(raw)
    about = header.get("__metadata__", {})
    inner = [key for key, value in about.items() if value[:1] in "{["]
    if inner and rng.random() < 0.8:  # what it says in JSON inside of JSON
        key = rng.choice(inner)
        about[key] = json.dumps(damaged_json(rng, json.loads(about[key])))
        return joined(header, body)
    return joined(damaged_json(rng, header), body)


def damaged_tensors(rng: random.Random, raw: bytes) -> bytes:
    header, _ = split_file(raw)
    tensors = {name: np.array(value) for name, value in safetensors.numpy.load(raw).items()}
    name = rng.choice(list(tensors))
    value = tensors[name]
    match rng.randrange(10):
        case 0:
            del tensors[name]
        case 1:
            tensors[rng.choice(("more", "split.train", "y", "node_float"))] = value
        case 2:
            tensors[name] = value[: len(value) // 2] if value.ndim else value
        case 3:
            tensors[name] = value.astype(rng.choice(("f4", "f8", "i4", "i8", "u1", "?", "f2")))
        case 4:
            tensors[name] = value.reshape(-1) if value.ndim > 1 else value[..., None]
        case 5:
            tensors[name] = np.concatenate([value, value]) if value.ndim else value
        case _ if value.size:  # most often
            flat = value.reshape(-1).copy()
            with np.errstate(all="ignore"):
                at = rng.randrange(flat.size)
                flat[at] = np.array(rng.choice(VALUES)).astype(flat.dtype)
            tensors[name] = flat.reshape(value.shape)
    tensors = {name: np.ascontiguousarray(value) for name, value in tensors.items()}
    return safetensors.numpy.save(tensors, header.get("__metadata__"))


def damage(rng: random.Random, raw: bytes) -> bytes:
    way = rng.random()
    if way < 0.15:
        return damaged_bytes(rng, raw, 1)
    if way < 0.22:
        size = 8 + int.from_bytes(raw[:8], "little")
        return damaged_bytes(rng, raw[:size]) + raw[size:]
    return damaged_header(rng, raw) if way < 0.55 else damaged_tensors(rng, raw)


def make_packed(rng: random.Random, folder: Path) -> None:
    path = folder / "set.safetensors"
    original = rng.choice(sorted((materials() / "packed").glob("*.safetensors")))
    path.write_bytes(damage(rng, original.read_bytes()))
    if rng.random() < 0.7:
        _right_checksum(path)
        return
    shutil.copy(original, folder / "original")  # what it must be equal to, if it is accepted


def _right_checksum(path: Path) -> None:
    """As the error says it should be."""
    try:
        load_packed(path)
    except UserError as error:
        found = re.search(r"expected (\w+), found (\w+)", str(error))
        if found:
            raw = path.read_bytes()
            path.write_bytes(raw.replace(found[1].encode(), found[2].encode()))
    except Exception:
        pass  # which the attempt will meet again


def attempt_packed(rng: random.Random, folder: Path) -> None:
    dataset = load("set.safetensors")
    check(dataset)
    original = folder / "original"
    if original.exists():
        shutil.copy(original, "original.safetensors")
        true = load("original.safetensors")
        claim(dataset.digest == true.digest, "a damaged set was accepted, and is another")
        for mine, its in zip(dataset.folds, true.folds, strict=True):
            claim(mine.digest == its.digest, "a damaged split was accepted, and is another")
        for field in ("class_names", "task_names", "graph_names", "task"):
            same = getattr(dataset.graphs, field) == getattr(true.graphs, field)
            claim(same, f"damaged {field} were accepted")
    if rng.random() < 0.1 and dataset.graphs.y is not None:
        accepted("train", "set.safetensors", "-m", "mean", "--folds", 1, *FLAGS)


def make_model(rng: random.Random, folder: Path) -> None:
    original = rng.choice(sorted((materials() / "models").iterdir()))
    shutil.copytree(original, folder / "model")
    fits = "shapes" if original.name == "shapes" else rng.choice(("new.csv", "molecules.csv"))
    data = rng.choice((fits,) * 8 + ("shapes", "energy.csv"))
    (folder / "data.txt").write_text(data)
    for _ in range(rng.choice((1, 1, 1, 2))):
        path = rng.choice(sorted((folder / "model").iterdir()))
        raw = path.read_bytes()
        if path.suffix == ".json":
            try:
                new = json.dumps(damaged_json(rng, json.loads(raw))).encode()
            except (ValueError, RecursionError):
                new = damaged_bytes(rng, raw)
            path.write_bytes(new if rng.random() < 0.8 else damaged_bytes(rng, raw))
            continue
        try:
            new = damage(rng, raw)
        except Exception:  # damaged before, so that it cannot be taken apart
            new = damaged_bytes(rng, raw)
        path.write_bytes(new)
        if rng.random() < 0.7:  # the description agrees with it
            old, now = (hashlib.sha256(each).hexdigest() for each in (raw, new))
            for beside in (folder / "model").glob("*.json"):
                text = beside.read_bytes()
                beside.write_bytes(text.replace(old.encode(), now.encode()))
    if rng.random() < 0.01:
        path.unlink()
        path.mkdir()


def attempt_model(rng: random.Random, folder: Path) -> None:
    load_model(folder / "model")
    data = (folder / "data.txt").read_text()
    accepted("predict", "model", materials() / data, "--out", "out.csv")
    with Path("out.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))  # names may have line ends
    claim(len(rows) == 13, f"{len(rows) - 1} predictions for 12 graphs")
    cells = [cell.strip().lower() for row in rows[1:] for cell in row]
    claim(not {"nan", "inf", "-inf"} & set(cells), "a prediction is not a number")


PACKED = Inputs("packed", make_packed, attempt_packed)
MODELS = Inputs("checkpoint", make_model, attempt_model)
