"""Who keeps models that outlive their run: of every run, or of the best."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from gmpool.engine.checkpoint import save_model, saved_key
from gmpool.engine.executors.executor import Done
from gmpool.engine.job import Job
from gmpool.errors import UserError
from gmpool.record import Row


class Keep(Protocol):
    """rows: what is recorded of the runs that are asked for, in their order."""

    def missing(self, rows: Sequence[Row]) -> set[str]:
        """The keys of those that must be done again for their models."""
        ...

    def take(self, job: Job, done: Done, rows: Sequence[Row]) -> None:
        """A run that is done; its row is among the rows, or one that was recorded before."""
        ...


@dataclass(frozen=True)
class KeepAll:
    """The model of each run, in a folder of its key."""

    folder: Path
    there: set[str] = field(default_factory=set)
    """The keys of which it is known."""

    def missing(self, rows: Sequence[Row]) -> set[str]:
        keys = {row.key for row in rows} - self.there
        self.there.update(key for key in keys if saved_key(self.folder / key) == key)
        return keys - self.there

    def take(self, job: Job, done: Done, rows: Sequence[Row]) -> None:
        _save(job, done, rows, self.folder / done.row.key)


@dataclass(frozen=True)
class KeepBest:
    """The model of the run with the best validation score; of equal ones the first."""

    folder: Path

    def missing(self, rows: Sequence[Row]) -> set[str]:
        best = {best_of(rows).key} if rows else set()
        return best - {saved_key(self.folder)}

    def take(self, job: Job, done: Done, rows: Sequence[Row]) -> None:
        if best_of(rows).key == done.row.key:
            _save(job, done, rows, self.folder, for_use=True)


@dataclass(frozen=True)
class KeepBoth:
    """For two who keep models."""

    first: Keep
    second: Keep

    def missing(self, rows: Sequence[Row]) -> set[str]:
        return self.first.missing(rows) | self.second.missing(rows)

    def take(self, job: Job, done: Done, rows: Sequence[Row]) -> None:
        self.first.take(job, done, rows)
        self.second.take(job, done, rows)


def best_of(rows: Sequence[Row]) -> Row:
    """By the validation part; without one the last, which is as good."""
    scored = [row for row in rows if _score(row) is not None]
    return max(scored, key=_score) if scored else rows[-1]


def _score(row: Row) -> Any:
    """Rows of other versions do not say it, and were selected by their loss."""
    loss = None if row.valid_loss is None else -row.valid_loss
    return row.more.get("selection_score", loss)


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
AGAIN = ("test", "valid", "valid_loss", "device", "commit")
"""And of a run that was done again for it, where it came out otherwise than recorded."""


def _save(
    job: Job, done: Done, rows: Sequence[Row], folder: Path, *, for_use: bool = False
) -> None:
    recorded = next(row for row in rows if row.key == done.row.key)
    about = {name: getattr(recorded, name) for name in ABOUT}
    if "split" in recorded.more:  # how data of a user's own were split
        about["split"] = recorded.more["split"]
    if not same_result(recorded, done.row):
        about["done_again"] = {name: getattr(done.row, name) for name in AGAIN}
    model = done.trained.model
    if for_use:
        data, run = job.task.data_for(job.dataset, job.model), done.row
        split = job.splits[run.fold - 1]
        model = job.task.for_use(model, data, split, done.trained.outputs)
    save_model(job.task, model, folder, about)


def same_result(one: Row, other: Row) -> bool:
    return (one.test, one.valid_loss) == (other.test, other.valid_loss)
