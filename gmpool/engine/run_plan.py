"""The cells of a plan, one after the other; what fails does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gmpool.config import RunSpec
from gmpool.data import Dataset, load
from gmpool.engine.cross_validate import Watcher, cross_validate
from gmpool.engine.plan import Cell
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
) -> list[Failure]:
    """Do the runs of the cells that the store does not hold yet, each set loaded once.

    A store that cannot be written ends it all: StoreError is raised.
    """
    failures: list[Failure] = []
    loaded: dict[str, Dataset | UserError] = {}
    for cell in cells:
        if cell.dataset not in loaded:
            loaded[cell.dataset] = cell.own or _load(cell.dataset, root)
        dataset = loaded[cell.dataset]
        if isinstance(dataset, UserError):
            failures.append(Failure(cell, cell.runs, dataset))
            continue
        if on_cell:
            on_cell(cell)
        failures += _run_cell(cell, dataset, store, device, replicas, watcher)
    return failures


def _load(name: str, root: Path | None) -> Dataset | UserError:
    try:
        return load(name, root)
    except UserError as error:
        return error


def _run_cell(
    cell: Cell,
    dataset: Dataset,
    store: RunStore,
    device: str,
    replicas: int | None,
    watcher: Watcher | None,
) -> list[Failure]:
    failed: list[tuple[RunSpec, UserError]] = []

    def on_failure(spec: RunSpec, error: UserError) -> None:
        failed.append((spec, error))

    job = cell.job(dataset)
    cross_validate(
        job, store, device=device, watcher=watcher, on_failure=on_failure, replicas=replicas
    )
    if not failed:
        return []
    spec, error = failed[0]
    return [Failure(cell, len(failed), error, spec)]
