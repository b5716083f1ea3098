"""Models that outlive their run: of every run, or of the best."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from gmpool.engine.checkpoint import is_saved, save_model
from gmpool.engine.executors.executor import Done
from gmpool.engine.job import Job, Run
from gmpool.errors import UserError
from gmpool.record import Row


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


def _save(job: Job, done: Done, folder: Path) -> None:
    save_model(job.task, done.trained.model, folder, about(done.row))


def about(row: Row) -> dict[str, object]:
    """What a saved model says of the run that it is from."""
    return {name: getattr(row, name) for name in ABOUT}
