"""How much of a plan is still to do, and how long that may take by what is recorded."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gmpool.data import CATALOGUE
from gmpool.engine.cell import Cell
from gmpool.engine.store import Row


@dataclass(frozen=True)
class Expected:
    """One cell: runs asked for, recorded and to do, and the time for those to do."""

    cell: Cell
    recorded: int
    seconds: float | None
    """None where no run of the method is recorded on this device."""
    rough: bool
    """Whether it is guessed from runs with other settings or on other sets."""

    @property
    def to_do(self) -> int:
        return self.cell.runs - self.recorded

    def to_json(self) -> dict[str, Any]:
        return {
            "line": self.cell.line.label,
            "method": self.cell.line.method,
            "dataset": self.cell.dataset,
            "runs": self.cell.runs,
            "recorded": self.recorded,
            "to_do": self.to_do,
            "expected_seconds": self.seconds,
        }


def expected(
    cells: Sequence[Cell], rows: Iterable[Row], device: str, workers: int = 1
) -> list[Expected]:
    """device: as rows name it. workers: how many runs are done at a time."""
    kinds: dict[tuple[str, str], list[Row]] = {(cell.task, cell.line.method): [] for cell in cells}
    for row in rows:
        if (row["task"], row["method"]) in kinds:
            kinds[row["task"], row["method"]].append(row)
    found = []
    for cell in cells:
        alike = kinds[cell.task, cell.line.method]
        recorded = len(cell.recorded(alike))
        to_do = cell.runs - recorded
        here = [row for row in alike if row["device"] == device]
        same = _same_settings(cell, here)
        each = same or _scaled(cell, here)
        share = to_do / min(workers, max(to_do, 1))
        seconds = share * statistics.fmean(each) if each else None if to_do else 0.0
        found.append(Expected(cell, recorded, seconds, rough=bool(to_do and each and not same)))
    return found


def _same_settings(cell: Cell, rows: Iterable[Row]) -> list[float]:
    """Seconds of runs on the set with the settings of the cell."""
    config = {"model": asdict(cell.model), "train": asdict(cell.train)}
    return [
        row["seconds"] for row in rows if row["dataset"] == cell.dataset and row["config"] == config
    ]


def _scaled(cell: Cell, rows: Sequence[Row]) -> list[float]:
    """Seconds of runs on the set with other settings, else on other sets, as if time grew with the
    epochs that are allowed and with the nodes of the set."""
    on_set = [row["seconds"] * _longer(cell, row) for row in rows if row["dataset"] == cell.dataset]
    return on_set or [
        row["seconds"] * _longer(cell, row) * _nodes(cell) / _named_nodes(row["dataset"])
        for row in rows
        if row["dataset"] in CATALOGUE
    ]


def _longer(cell: Cell, row: Row) -> float:
    return float(cell.train.epochs / row["config"]["train"]["epochs"])


def _nodes(cell: Cell) -> float:
    return float(cell.own.graphs.num_nodes) if cell.own else _named_nodes(cell.dataset)


def _named_nodes(dataset: str) -> float:
    entry = CATALOGUE[dataset]
    return entry.graphs * entry.mean_nodes
