"""The cells of a plan, one after the other; what fails does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from gmpool.config import RunSpec
from gmpool.data import Dataset, load
from gmpool.engine.cell import Cell
from gmpool.engine.cross_validate import Watcher, cross_validate
from gmpool.engine.reconstructions import ReconstructJob, run_reconstructions
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
    root: Path | None = None,
    watcher: Watcher | None = None,
    on_cell: Callable[[Cell], None] | None = None,
    keep_models: Path | None = None,
) -> list[Failure]:
    """Do the runs of the cells that the store does not hold yet, each set loaded once.

    keep_models: a folder for the weights of reconstructions. A store that cannot be written ends
    it all: StoreError is raised.
    """
    failures: list[Failure] = []
    loaded: dict[str, Dataset | UserError] = {}
    for _, together in groupby(cells, _program):
        group = list(together)
        name = group[0].dataset
        if name not in loaded:
            loaded[name] = group[0].own or _load(name, root)
        dataset = loaded[name]
        if isinstance(dataset, UserError):
            failures += [Failure(cell, cell.runs, dataset) for cell in group]
            continue
        if on_cell:
            for cell in group:
                on_cell(cell)
        shared: dict[str, Any] = {"device": device, "replicas": replicas, "watcher": watcher}
        if group[0].task == "classify":
            failures += _classify(group[0], dataset, store, shared)
        else:
            failures += _reconstruct(group, dataset, store, {**shared, "keep_models": keep_models})
    return failures


def _program(cell: Cell) -> tuple[object, ...]:
    """Cells that are run together have it in common: reconstructions of one set by one method."""
    alone = id(cell) if cell.task == "classify" else None
    return cell.task, cell.dataset, cell.line.method, alone


def _load(name: str, root: Path | None) -> Dataset | UserError:
    try:
        return load(name, root)
    except UserError as error:
        return error


def _classify(
    cell: Cell, dataset: Dataset, store: RunStore, how: Mapping[str, Any]
) -> list[Failure]:
    failed: list[tuple[RunSpec, UserError]] = []

    def on_failure(spec: RunSpec, error: UserError) -> None:
        failed.append((spec, error))

    cross_validate(cell.job(dataset), store, on_failure=on_failure, **how)
    return _failure(cell, failed)


def _reconstruct(
    cells: list[Cell], dataset: Dataset, store: RunStore, how: Mapping[str, Any]
) -> list[Failure]:
    jobs = [cell.reconstruct_job(dataset) for cell in cells]
    failed: dict[int, list[tuple[RunSpec, UserError]]] = {id(job): [] for job in jobs}

    def on_failure(job: ReconstructJob, spec: RunSpec, error: UserError) -> None:
        failed[id(job)].append((spec, error))

    run_reconstructions(jobs, store, on_failure=on_failure, **how)
    pairs = zip(cells, jobs, strict=True)
    return [one for cell, job in pairs for one in _failure(cell, failed[id(job)])]


def _failure(cell: Cell, failed: list[tuple[RunSpec, UserError]]) -> list[Failure]:
    if not failed:
        return []
    spec, error = failed[0]
    return [Failure(cell, len(failed), error, spec)]
