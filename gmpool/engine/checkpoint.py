"""Trained models on disk: one safetensors file whose header says everything else; no pickle.

The description lies in the file with the weights, and in it their digest, so that at any moment a
folder holds the model before or the new one, and never something of both. `model.json` beside it
is a copy for people, which nothing reads. In formats 2 and 3 it was the description.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import save
from torch import Tensor

from gmpool.atomic_files import write_atomically
from gmpool.engine.weights_file import AGAIN, LONGEST, WeightsFile
from gmpool.errors import CheckpointError, UserError
from gmpool.record import Row
from gmpool.report.grid import Grid
from gmpool.tasks.predictions import Predictions
from gmpool.tasks.task import DEFAULT, TASKS, Samples, Task
from gmpool.tasks.trainable import Trainable

FORMAT = 4
WEIGHTS, COPY = "model.safetensors", "model.json"
OURS = "gmpool"
"""The entry of the header that holds the description."""


def save_model(task: Task, model: Trainable, folder: str | Path, about: Mapping[str, Any]) -> None:
    """Write folder/model.safetensors and folder/model.json; `about` is kept for the reader."""
    description = {
        "format": FORMAT,
        "task": task.name,
        "shape": model.shape.to_json(),
        "model": asdict(model.config),
        "about": dict(about),
    }
    weights = {k: v.detach().cpu().contiguous() for k, v in model.state_dict().items()}
    _write(Path(folder), weights, description)


def _write(folder: Path, weights: dict[str, Tensor], description: dict[str, Any]) -> None:
    numbers = save(weights)
    start = 8 + int.from_bytes(numbers[:8], "little")
    digest = hashlib.sha256(memoryview(numbers)[start:]).hexdigest()
    description = {**description, "digest": digest}
    copy = json.dumps(description, indent=1, allow_nan=False).encode() + b"\n"
    try:
        files = {COPY: copy, WEIGHTS: save(weights, {OURS: json.dumps(description)})}
        write_atomically({folder / name: files[name] for name in _order(folder)})
    except OSError as error:
        raise CheckpointError(
            f"the model could not be saved in {folder}: {error}; what was there before is "
            f"untouched. Free some space, or choose another folder"
        ) from error


def _order(folder: Path) -> tuple[str, str]:
    """The copy first: who is stopped in between lacks the new weights, and does all again. Where an
    older version's weights are, it is their description, and goes last."""
    try:
        with WeightsFile(folder / WEIGHTS) as file:
            return (COPY, WEIGHTS) if OURS in file.notes else (WEIGHTS, COPY)
    except CheckpointError:
        return COPY, WEIGHTS


def rename_run(folder: Path, key: str) -> None:
    """Say that a saved model is of the run of this key; the model stays as it is."""
    with _opened(folder) as (file, description):
        about = {**description["about"], "key": key}
        _write(folder, file.read(), {**description, "format": FORMAT, "about": about})


def saved_key(folder: Path) -> str | None:
    """The key of the run whose model a folder holds, undamaged; None where there is none."""
    try:
        with _opened(folder) as (_, description):
            return str(description["about"].get("key"))
    except CheckpointError:
        return None


class Saved(NamedTuple):
    """A model, the task it is of, and the description that was saved with it."""

    task: Task
    model: Any
    description: dict[str, Any]

    @property
    def digest(self) -> str:
        """Of all that what it says depends on."""
        about = {name: self.description[name] for name in ("task", "shape", "model")}
        state = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
        for name, weight in sorted(self.model.state_dict().items()):
            state.update(f"{name} {weight.dtype} {list(weight.shape)}\n".encode())
            state.update(weight.cpu().contiguous().numpy().tobytes())
        return state.hexdigest()

    def predict(self, source: Any, root: Path | None = None, **options: Any) -> Predictions:
        """On new data: a path or name, a DataFrame, a list of SMILES, packed graphs.

        Tasks take device, batch_size, workers (processes), smiles_column (of a table) and coverage
        (which intervals or sets are to have).
        """
        return self.task.predict(self.model, source, root, **options)

    def embed(self, source: Any, root: Path | None = None, **options: Any) -> Predictions:
        """The vectors of new data; the same options but coverage."""
        return self.task.embed(self.model, source, root, **options)

    def evaluate(self, source: Any, root: Path | None = None, **options: Any) -> list[Grid]:
        """Scores on data with labels; the same options as `predict`."""
        return self.task.evaluate(self.model, source, root, **options)

    def sample(self, number: int = 1000, *, seed: int = 0, device: str = "cpu") -> Samples:
        """What the model makes of nothing, such as new molecules; others with another seed."""
        return self.task.samples(self.model, number, seed, device)


def load_model(folder: str | Path) -> Saved:
    """What a folder holds is compared with what its description asks for before a model is made, so
    that it takes no more memory than its file is long."""
    with _opened(Path(folder)) as (file, description):
        shape, config = description["shape"], description["model"]
        try:
            task = TASKS[description["task"]]
            with torch.device("meta"):
                expected = task.rebuild(shape, config).state_dict()
        except UserError as error:
            raise _unreadable(_place(file), error) from error
        file.require(expected)
        weights = file.read()
    model = task.rebuild(shape, config)
    model.load_state_dict(weights)
    return Saved(task, model, description)


def kept_model(folder: Path) -> Callable[[Row], Callable[[], Any] | None]:
    """Finds the models that a store has kept, one folder per key: what loads a row's, or None."""

    def find(row: Row) -> Callable[[], Any] | None:
        saved = folder / row.key
        return (lambda: load_model(saved).model) if saved_key(saved) == row.key else None

    return find


@contextmanager
def _opened(folder: Path) -> Iterator[tuple[WeightsFile, dict[str, Any]]]:
    """The file of a saved model, and its description. What can be known without making a model is
    checked."""
    _require(folder, WEIGHTS)
    with WeightsFile(folder / WEIGHTS) as file:
        if OURS not in file.notes:
            _require(folder, COPY)
        description = _parsed(_place(file), _text(file))
        if description["format"] == FORMAT and description.get("digest") != file.digest():
            raise CheckpointError(
                f"{file.path}: the weights are not those that were saved; {AGAIN}"
            )
        yield file, description


def _require(folder: Path, name: str) -> None:
    if not (folder / name).is_file():
        raise CheckpointError(
            f"{folder} is not a saved model: {name} is missing; give the folder that "
            f"`--save-model FOLDER` wrote"
        )


def _place(file: WeightsFile) -> Path:
    """Where the description is read."""
    return file.path if OURS in file.notes else file.path.with_name(COPY)


def _text(file: WeightsFile) -> object:
    if OURS in file.notes:
        return file.notes[OURS]
    path = _place(file)
    try:
        with path.open("rb") as copy:
            return copy.read(LONGEST)
    except OSError as error:
        raise _unreadable(path, error) from error


def _parsed(place: Path, text: object) -> dict[str, Any]:
    """A description: format, task, shape, model, about."""
    if not isinstance(text, str | bytes):
        raise _unreadable(place, f"its description must be text, got {text!r:.60}")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _unreadable(place, error) from error
    if not isinstance(found, dict):
        raise _unreadable(place, "its description must be an object")
    if "format" not in found:
        raise _unreadable(place, "'format' is missing")
    # Format 2 did not say the task, and was mostly of the default one. In both the weights are
    # described beside them.
    if found["format"] not in ((FORMAT,) if place.name == WEIGHTS else (2, 3)):
        raise CheckpointError(
            f"{place} has format {found['format']!r:.60}, this version of gmpool reads {FORMAT}; "
            f"use the version that wrote it, or train again"
        )
    found.setdefault("task", DEFAULT)
    found.setdefault("about", {})
    for name, kind in (("task", str), ("shape", dict), ("model", dict), ("about", dict)):
        if name not in found:
            raise _unreadable(place, f"'{name}' is missing")
        if not isinstance(found[name], kind):
            raise _unreadable(place, f"{name} is {found[name]!r:.60}")
    return found


def _unreadable(place: Path, why: object) -> CheckpointError:
    return CheckpointError(f"{place} cannot be read: {why}; {AGAIN}")
