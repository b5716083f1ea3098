"""Commands that write, and what is on the disk after them."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from gmpool.data import from_smiles, load
from gmpool.data import save as save_packed
from gmpool.data.sources.packed_file import packed_once
from gmpool.engine.checkpoint import load_model
from gmpool.errors import CheckpointError
from tests.campaign.forks import WrongEnd, command
from tests.campaign.materials import FLAGS, MOLECULES, REBUILD

TRAIN = ("train", "molecules.csv", *FLAGS, "--seeds", "2")
AS_A_MODEL, REFUSED = "/ as a model", "refused"
VOLATILE = {"seconds", "time", "created", "host", "pid"}
"""What no two runs have in common."""


@dataclass(frozen=True)
class Scene:
    """Something that writes, done in a folder of its own."""

    act: Callable[[], None]
    needs: tuple[str, ...] = ("molecules.csv",)
    """What of the materials is there before."""
    text: str = ""


def _command(*words: str) -> Callable[[], None]:
    def act() -> None:
        said = command(*words)
        if said.code:
            raise WrongEnd(
                f"exit code {said.code} of gmpool {' '.join(words)}\n{said.text[-3000:]}"
            )

    return act


def _scene(*words: str, needs: tuple[str, ...] = ("molecules.csv",)) -> Scene:
    return Scene(_command(*words), needs, " ".join(["gmpool", *words]))


def _save_set() -> None:
    dataset = load("molecules.csv")
    save_packed(dataset.graphs, "set.safetensors", dataset.folds[0])


def _cache_set() -> None:
    graphs, _ = packed_once(
        "some", "0123456789abcdef", lambda: (from_smiles(list(MOLECULES)), None)
    )
    assert graphs.num_graphs == len(MOLECULES)


TABLES = ("old", "plan.toml", "molecules.csv", "table.md", "table.html")
SCENES: dict[str, Scene] = {
    "train": _scene(*TRAIN, "-m", "mean"),
    "train-workers": _scene(*TRAIN, "-m", "gmt", "--workers", "2"),
    "train-save": _scene(*TRAIN, "-m", "gmt", "--save-model", "best"),
    "train-save-over": _scene(
        *TRAIN, "-m", "mean", "--save-model", "model", needs=("molecules.csv", "model")
    ),
    "train-keep": _scene(*TRAIN, "-m", "gmt", "--keep-models"),
    "train-keep-save": _scene(*TRAIN, "-m", "mean", "--keep-models", "--save-model", "best"),
    "train-out": _scene(*TRAIN, "-m", "mean", "--out", "table.md", needs=TABLES),
    "train-cache": _scene(
        "train", "shapes", *FLAGS, "-m", "haarpool", "--folds", "1", needs=("shapes",)
    ),
    "run": _scene("run", "plan.toml", "--device", "cpu", needs=("molecules.csv", "plan.toml")),
    "run-keep": _scene(
        "run", "plan.toml", "--device", "cpu", "--keep-models", "--store", "old", needs=TABLES
    ),
    "reconstruct": _scene("reconstruct", "ring", "-p", "n=6", *REBUILD, "--keep-models", needs=()),
    "reconstruct-plots": _scene(
        "reconstruct", "molecules.csv", *REBUILD, "--plots", "pictures", "--out", "table.html",
        needs=TABLES,
    ),
    "predict": _scene(
        "predict", "model", "new.csv", "--out", "out.csv", needs=("model", "new.csv", "out.csv")
    ),
    "predict-gz": _scene(
        "predict", "model", "new.csv", "--out", "out.csv.gz",
        needs=("model", "new.csv", "out.csv.gz"),
    ),
    "table-md": _scene("table", "old", "--out", "table.md", needs=TABLES),
    "table-html": _scene(
        "table", "plan.toml", "--store", "old", "--out", "table.html", "--plots", "p", needs=TABLES
    ),
    "table-csv": _scene("table", "old", "--out", "folder/new.csv", needs=TABLES),
    "rekey": _scene("store", "rekey", "stale", needs=("stale",)),
    "save-set": Scene(_save_set, text="gmpool.data.save"),
    "cache-set": Scene(_cache_set, needs=(), text="packed_once"),
}  # fmt: skip


def furnish(scene: Scene, materials: Path, folder: Path) -> None:
    folder.mkdir()
    for name in scene.needs:
        source = materials / name
        if source.is_dir():
            shutil.copytree(source, folder / name)
        else:
            shutil.copy(source, folder / name)


def play(scene: Scene, folder: Path) -> None:
    """In a child."""
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    scene.act()


def snapshot(folder: Path) -> dict[str, Any]:
    """What is there, without what no two runs have in common and what nobody is to see."""
    found: dict[str, Any] = {}
    models = set()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_dir() or any(part.startswith(".") for part in name.parts):
            continue
        try:
            found[str(name)] = _content(path)
        except (ValueError, OSError, EOFError, SafetensorError) as error:
            found[str(name)] = f"unreadable: {error}"
        if path.name.startswith("model."):
            models.add(name.parent)
    for name in sorted(models):
        found[f"{name}{AS_A_MODEL}"] = _model(folder / name)
    return found


def _model(folder: Path) -> Any:
    try:
        saved = load_model(folder)
    except CheckpointError:
        return REFUSED
    state = hashlib.sha256()
    for name, value in sorted(saved.model.state_dict().items()):
        state.update(f"{name} {value.dtype} {list(value.shape)}".encode())
        state.update(value.contiguous().numpy().tobytes())
    return state.hexdigest()


def _content(path: Path) -> Any:
    if path.suffix == ".jsonl":
        return journal(path)
    if path.suffix == ".json":
        return _lasting(json.loads(path.read_text()))
    if path.suffix == ".safetensors":
        return _tensors(path)
    raw = path.read_bytes()
    if path.suffix == ".gz" and raw[:2] == b"\x1f\x8b":
        return gzip.decompress(raw).decode()
    if path.suffix == ".png":
        return hashlib.sha256(raw).hexdigest()
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "NOW", raw.decode())
    return re.sub(r"\b\d+(\.\d+)? (ms|s|min)\b( \d+ s\b)?", "TIME", text)


def _tensors(path: Path) -> Any:
    state = hashlib.sha256()
    with safe_open(str(path), framework="np") as file:
        about = file.metadata() or {}
        for name in sorted(file.keys()):
            value = file.get_tensor(name)
            state.update(f"{name} {value.dtype} {value.shape}".encode() + value.tobytes())
    return state.hexdigest(), {key: about[key] for key in sorted(about)}


def journal(path: Path) -> dict[str, Any]:
    """Rows by key; a row that is there twice is told."""
    found: dict[str, Any] = {}
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.endswith(b"#torn"):
            continue
        try:
            row = json.loads(line)
        except ValueError:
            if number < len(lines):
                raise
            continue  # the torn end of a journal
        found[f"{row['key']} again" if row["key"] in found else row["key"]] = _lasting(row)
    return found


def _lasting(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lasting(each) for key, each in value.items() if key not in VOLATILE}
    return [_lasting(each) for each in value] if isinstance(value, list) else value


def differences(wanted: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Of what must be there and what is."""
    said = [f"{name} is missing" for name in wanted if name not in found]
    said += [f"{name} should not be there" for name in found if name not in wanted]
    for name in wanted.keys() & found.keys():
        if wanted[name] != found[name]:
            said.append(f"{name} differs:{_first_difference(wanted[name], found[name])}")
    return said


def _first_difference(wanted: Any, found: Any) -> str:
    mine, its = (each if isinstance(each, str) else repr(each) for each in (wanted, found))
    pairs = enumerate(zip(mine, its, strict=False))
    at = next((at for at, (a, b) in pairs if a != b), min(len(mine), len(its)))
    return f"\n  {mine[max(0, at - 100) : at + 200]!r}\n  {its[max(0, at - 100) : at + 200]!r}"


def torn(
    old: dict[str, Any], new: dict[str, Any], found: dict[str, Any], models: set[str]
) -> list[str]:
    """What a kill has left that is neither as it was nor as it was to become. models: all that any
    run made, of which the best so far may be there."""
    said = []
    whole = [name for name in found if name.endswith(AS_A_MODEL)]
    of_models = tuple(name.removesuffix(AS_A_MODEL) + "/model." for name in whole)
    said += [f"{name} is of no run" for name in whole if found[name] not in {*models, REFUSED}]
    for name, value in found.items():
        states = [state[name] for state in (old, new) if name in state]
        if name in whole or name.startswith(of_models):
            continue
        if name.endswith(".jsonl") and isinstance(value, dict):
            rows = {key: row for state in states for key, row in state.items()}
            said += [f"{name}: row {key} is wrong" for key in value if rows.get(key) != value[key]]
            lost = [key for key in old.get(name, {}) if key not in value]
            if lost and value.keys() != new.get(name, {}).keys():
                said.append(f"{name}: rows are lost: {lost}")
        elif value not in states:
            said.append(f"{name} is torn: {value!r:.300}")
    said += [f"{name} was lost" for name in old if name in new and name not in found]
    return said
