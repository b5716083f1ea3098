"""Trained models on disk: weights as safetensors, everything else as JSON, no pickle. And who keeps
models that outlive their run: of every run, or of the best."""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save

from gmpool.atomic_files import write_atomically
from gmpool.engine.executors.executor import Done
from gmpool.engine.job import Job, Run
from gmpool.errors import CheckpointError, UserError
from gmpool.record import Row
from gmpool.tasks.task import DEFAULT, TASKS, Task
from gmpool.tasks.trainable import Trainable

FORMAT = 3
READABLE = (2, 3)
"""Format 2 did not say the task, and was mostly of the default one."""
WEIGHTS, DESCRIPTION = "model.safetensors", "model.json"
AGAIN = "copy the folder again, or train again"


def save_model(task: Task, model: Trainable, folder: str | Path, about: Mapping[str, Any]) -> None:
    """Write folder/model.safetensors and folder/model.json; `about` is kept for the reader."""
    folder = Path(folder)
    description = {
        "format": FORMAT,
        "task": task.name,
        "shape": model.shape.to_json(),
        "model": asdict(model.config),
        "about": dict(about),
    }
    weights = {k: v.detach().cpu().contiguous() for k, v in model.state_dict().items()}
    text = json.dumps(description, indent=1) + "\n"
    try:
        write_atomically({folder / WEIGHTS: save(weights), folder / DESCRIPTION: text.encode()})
    except OSError as error:
        raise CheckpointError(
            f"the model could not be saved in {folder}: {error}; what was there before is "
            f"untouched. Free some space, or choose another folder"
        ) from error


def is_saved(folder: Path) -> bool:
    return (folder / WEIGHTS).is_file() and (folder / DESCRIPTION).is_file()


class Saved(NamedTuple):
    """A model, the task it is of, and the description that was saved with it."""

    task: Task
    model: Any
    description: dict[str, Any]


def load_model(folder: str | Path) -> Saved:
    folder = Path(folder)
    for name in (DESCRIPTION, WEIGHTS):
        if not (folder / name).is_file():
            raise CheckpointError(
                f"{folder} is not a saved model: {name} is missing; give the folder that "
                f"`gmpool train --save-model FOLDER` wrote"
            )
    try:
        description = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        _check_format(description["format"], folder / DESCRIPTION)
        task = TASKS[description.get("task", DEFAULT)]
        model = task.rebuild(description["shape"], description["model"])
    except CheckpointError:
        raise
    except KeyError as error:
        raise CheckpointError(
            f"{folder / DESCRIPTION} cannot be read: {error} is missing; {AGAIN}"
        ) from error
    except (ValueError, TypeError, RuntimeError, UserError) as error:
        raise CheckpointError(f"{folder / DESCRIPTION} cannot be read: {error}; {AGAIN}") from error
    load_weights(model, folder / WEIGHTS)
    return Saved(task, model, description)


def kept_model(folder: Path) -> Callable[[Row], Callable[[], Any] | None]:
    """Finds the models that a store has kept, one folder per key: what loads a row's, or None."""

    def find(row: Row) -> Callable[[], Any] | None:
        saved = folder / row.key
        return (lambda: load_model(saved).model) if is_saved(saved) else None

    return find


def _check_format(found: object, path: Path) -> None:
    if found not in READABLE:
        raise CheckpointError(
            f"{path} has format {found!r}, this version of gmpool reads {FORMAT}; use the version "
            f"that wrote it, or train again"
        )


def load_weights(model: torch.nn.Module, path: Path) -> None:
    """Fill a model from a safetensors file; every name and shape must agree."""
    try:
        weights = load_file(path)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(
            f"{path} cannot be read ({error}); it may be cut off or not a safetensors file; {AGAIN}"
        ) from error
    expected = {k: tuple(v.shape) for k, v in model.state_dict().items()}
    found = {k: tuple(v.shape) for k, v in weights.items()}
    if expected != found:
        names = sorted(k for k in expected.keys() | found.keys() if expected.get(k) != found.get(k))
        first = names[0]
        raise CheckpointError(
            f"{path} does not fit the model: {first} is {found.get(first, 'missing')} in the file "
            f"and {expected.get(first, 'unknown')} in the model ({len(names)} of {len(expected)} "
            f"tensors differ); {AGAIN}"
        )
    model.load_state_dict(weights)


class Keep(Protocol):
    """Who keeps models."""

    def wants(self, run: Run) -> bool:
        """Whether a recorded run must be done again for it."""
        ...

    def take(self, job: Job, run: Run, done: Done) -> None: ...


@dataclass(frozen=True)
class KeepAll:
    """The model of each run, in a folder of its key."""

    folder: Path

    def wants(self, run: Run) -> bool:
        return not is_saved(self.folder / run.key)

    def take(self, job: Job, run: Run, done: Done) -> None:
        _save(job, done, self.folder / run.key)


@dataclass
class KeepBest:
    """The model of the run with the best validation score."""

    folder: Path
    best: float = field(default=-math.inf)

    def wants(self, run: Run) -> bool:
        return True

    def take(self, job: Job, run: Run, done: Done) -> None:
        score = done.row.more["selection_score"]
        if score is None or score > self.best:  # without a validation part the last is as good
            self.best = self.best if score is None else score
            _save(job, done, self.folder)


@dataclass(frozen=True)
class KeepBoth:
    """For two who keep models."""

    first: Keep
    second: Keep

    def wants(self, run: Run) -> bool:
        return self.first.wants(run) or self.second.wants(run)

    def take(self, job: Job, run: Run, done: Done) -> None:
        self.first.take(job, run, done)
        self.second.take(job, run, done)


def require_weights(jobs: Iterable[Job]) -> None:
    """Before anything is run for models that cannot be kept."""
    for job in jobs:
        if not job.task.has_weights:
            raise UserError(
                f"{job.model.method} has no weights to save: it compares new graphs with those it "
                f"was trained on; train without saving, or a pooling method such as gmt"
            )


ABOUT = ("key", "dataset", "method", "seed", "fold", "metric", "test", "valid", "commit")
"""What a saved model says of the run that it is from."""


def _save(job: Job, done: Done, folder: Path) -> None:
    about = {name: getattr(done.row, name) for name in ABOUT}
    save_model(job.task, done.trained.model, folder, about)
