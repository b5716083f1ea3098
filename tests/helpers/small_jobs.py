"""Jobs that are done in a moment, and a watcher that writes down what it is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from small_sets import OPTIONS, dataset

from gmpool.data import Dataset
from gmpool.engine.job import Job, Run
from gmpool.engine.training import Epoch
from gmpool.record import Row


def job(
    method: str = "gmt",
    data: Dataset | None = None,
    *,
    folds: int = 2,
    seeds: int = 2,
    **options: Any,
) -> Job:
    """On rings and paths, with options over those that make it quick."""
    chosen = options if method == "wl-svm" else {**OPTIONS, **options}
    return Job.make("classify", data or dataset(), method, seeds=seeds, folds=folds, options=chosen)


class Log:
    """A watcher. What it is told: epochs, runs as (method, seed, fold, reused), and notes."""

    def __init__(self) -> None:
        self.epochs: list[int] = []
        self.runs: list[tuple[str, int, int, bool]] = []
        self.stacks: list[int] = []
        self.notes: list[str] = []
        self.places: dict[str, int] = {}

    def run_started(self, job: Job, run: Run) -> Callable[[Epoch], None]:
        return lambda epoch: self.epochs.append(epoch.epoch)

    def stack_started(self, jobs: Sequence[Job], runs: int) -> Callable[[int, int], None]:
        self.stacks.append(runs)
        return lambda number, running: self.epochs.append(number)

    def run_finished(self, job: Job, run: Run, row: Row, *, reused: bool) -> None:
        assert run.key == row.key
        self.runs.append((job.model.method, run.seed, run.fold, reused))

    def placed(self, runs: Mapping[str, int]) -> None:
        self.places = dict(runs)

    def note(self, text: str) -> None:
        self.notes.append(text)


def timeless(rows: Sequence[Row]) -> list[Row]:
    """Rows without what no two runs have in common, nor processes where somebody edits the code."""
    return [replace(row, seconds=0, commit=None, source=None) for row in rows]
