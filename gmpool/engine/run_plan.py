"""The cells of a plan, one after the other; what fails does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from gmpool.config import RunSpec
from gmpool.data import Dataset, load
from gmpool.engine.cell import Cell
from gmpool.engine.jobs import Watcher, run_jobs
from gmpool.engine.reconstructions import run_reconstructions
from gmpool.engine.store import RunStore
from gmpool.errors import UserError


@dataclass(frozen=True)
class Failure:
    """Runs of a cell that a user's error ended: how many, and the first of them."""

    cell: Cell
    runs: int
    error: UserError
    first: RunSpec | None = None
    """None where the data could not be loaded."""

    def __str__(self) -> str:
        first = self.first
        which = f", the first with seed {first.seed} fold {first.fold}" if first else ""
        return (
            f"{self.cell.line.label} on {self.cell.dataset}, {self.runs} of {self.cell.runs} "
            f"run(s){which}: {self.error}"
        )

    def to_json(self) -> dict[str, Any]:
        line, dataset = self.cell.line.label, self.cell.dataset
        return {"line": line, "dataset": dataset, "runs": self.runs, "error": str(self.error)}


def run_cells(
    cells: Iterable[Cell],
    store: RunStore,
    *,
    device: str = "cpu",
    replicas: int | None = 1,
    side_by_side: int | None = None,
    workers: int = 1,
    root: Path | None = None,
    watcher: Watcher | None = None,
    on_cell: Callable[[Cell], None] | None = None,
    keep_models: Path | None = None,
) -> list[Failure]:
    """Do the runs of the cells that the store does not hold yet, each set loaded once.

    side_by_side: how many programs a GPU works on at a time, whatever cells they belong to. None:
    one for classifications, and for reconstructions all those of one set by one method.
    workers: how many runs a CPU does at a time, whatever cells they belong to.
    keep_models: a folder for the weights of reconstructions. A store that cannot be written ends
    it all: StoreError is raised.
    """
    failures: list[Failure] = []
    loaded: dict[str, Dataset | UserError] = {}
    how = {"device": device, "replicas": replicas, "workers": workers, "watcher": watcher}
    alone = side_by_side is None and workers == 1
    for _, together in groupby(cells, _program if alone else _task):
        ready: list[tuple[Cell, Dataset]] = []
        for cell in together:
            if cell.dataset not in loaded:
                loaded[cell.dataset] = cell.own or _load(cell.dataset, root)
            dataset = loaded[cell.dataset]
            if isinstance(dataset, UserError):
                failures.append(Failure(cell, cell.runs, dataset))
                continue
            ready.append((cell, dataset))
            if on_cell:
                on_cell(cell)
        if ready and ready[0][0].task == "classify":
            failures += _classify(ready, store, {**how, "at_once": side_by_side or 1})
        elif ready:
            more = {"at_once": side_by_side, "keep_models": keep_models}
            failures += _reconstruct(ready, store, {**how, **more})
    return failures


def _program(cell: Cell) -> tuple[object, ...]:
    """Cells that are run together have it in common: reconstructions of one set by one method."""
    alone = id(cell) if cell.task == "classify" else None
    return cell.task, cell.dataset, cell.line.method, alone


def _task(cell: Cell) -> str:
    return cell.task


def _load(name: str, root: Path | None) -> Dataset | UserError:
    try:
        return load(name, root)
    except UserError as error:
        return error


Ready = Sequence[tuple[Cell, Dataset]]


def _classify(ready: Ready, store: RunStore, how: Mapping[str, Any]) -> list[Failure]:
    jobs, failed = [cell.job(dataset) for cell, dataset in ready], _Failed()
    run_jobs(jobs, store, on_failure=failed.note, **how)
    return failed.summary(ready, jobs)


def _reconstruct(ready: Ready, store: RunStore, how: Mapping[str, Any]) -> list[Failure]:
    jobs, failed = [cell.reconstruct_job(dataset) for cell, dataset in ready], _Failed()
    run_reconstructions(jobs, store, on_failure=failed.note, **how)
    return failed.summary(ready, jobs)


class _Failed:
    """The runs of each job that failed."""

    def __init__(self) -> None:
        self.by_job: dict[int, list[tuple[RunSpec, UserError]]] = {}

    def note(self, job: object, spec: RunSpec, error: UserError) -> None:
        self.by_job.setdefault(id(job), []).append((spec, error))

    def summary(self, ready: Ready, jobs: Sequence[object]) -> list[Failure]:
        found = []
        for (cell, _), job in zip(ready, jobs, strict=True):
            runs = self.by_job.get(id(job))
            if runs:
                spec, error = runs[0]
                found.append(Failure(cell, len(runs), error, spec))
        return found
