"""What is recorded of drawn molecules: for each line of a table its runs, with scores by iteration.

Rows of runs without RDKit hold the draws themselves, and have no part here until they are scored.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gmpool.errors import StoreError, UserError
from gmpool.record import Row
from gmpool.report.comparison import Cell
from gmpool.tasks.generate.watch import CURVES

_NUMBERS = (int, float)


@dataclass(frozen=True)
class Run:
    """One seed: scores at T iterations."""

    row: Row
    iterations: np.ndarray
    """int [T], rising."""
    scores: Mapping[str, np.ndarray]
    """By the names of CURVES: float [T], NaN where there is nothing to take a share or mean of."""

    @classmethod
    def of(cls, row: Row) -> Run:
        """A StoreError where the row is not as it was recorded."""
        found = row.more["generated"]
        if not _is_sound(found):
            raise StoreError(
                f"the recorded row {row.key} cannot be used: what it says of generated molecules "
                f"is incomplete or of another type; remove its line from the run store, and run "
                f"it again"
            )
        scores = {name: np.array(found[name], dtype=float) for name in CURVES}
        return cls(row, np.array(found["iteration"]), scores)

    @property
    def seed(self) -> int:
        return self.row.seed

    @property
    def generated(self) -> Mapping[str, Any]:
        """What else the row says of its draws."""
        found: Mapping[str, Any] = self.row.more["generated"]
        return found

    def at(self, name: str, iteration: int) -> float:
        """A score at an iteration, or where none was recorded there the last before it."""
        place = int(np.searchsorted(self.iterations, iteration, side="right")) - 1
        return float(self.scores[name][place]) if place >= 0 else float("nan")

    def until(self, name: str, iteration: int) -> np.ndarray:
        """The scores at the iterations up to this one. [≤ T]"""
        return self.scores[name][self.iterations <= iteration]

    def average(self, name: str, iteration: int) -> float:
        """Mean over the iterations up to this one."""
        known = numbers(self.until(name, iteration).tolist())
        return statistics.fmean(known) if known else float("nan")

    def highest(self, name: str, iteration: int) -> float:
        """Of the iterations up to this one."""
        return max(numbers(self.until(name, iteration).tolist()), default=float("nan"))


@dataclass(frozen=True)
class Line:
    """One line of a table on one set."""

    label: str
    method: str
    asked: int
    """How many runs there should be."""
    runs: tuple[Run, ...]
    """By seed, one of each."""
    unscored: int
    """Rows whose draws nobody has scored yet."""
    left_out: int
    """Rows on other data of the same name."""


def lines_by_set(cells: Iterable[Cell]) -> dict[str, list[Line]]:
    """By the name of the set; lines without runs are there too."""
    found: dict[str, list[Line]] = defaultdict(list)
    for cell in cells:
        by_seed: dict[int, Row] = {}
        for row in cell.rows:
            if "generated" in row.more:
                by_seed.setdefault(row.seed, row)
        runs = tuple(Run.of(by_seed[seed]) for seed in sorted(by_seed))
        unscored = sum("generated" not in row.more for row in cell.rows)
        made = Line(cell.label, cell.method, cell.asked, runs, unscored, cell.left_out)
        found[cell.dataset].append(made)
    return dict(found)


def require_runs(lines: Mapping[str, Sequence[Line]]) -> None:
    """Raises where there is nothing to show."""
    every = [line for of_set in lines.values() for line in of_set]
    if any(line.runs for line in every):
        return
    if unscored := sum(line.unscored for line in every):
        raise UserError(
            f"none of the recorded runs ({unscored}) has scores yet, as these need RDKit; install "
            'it with: pip install "gmpool[chem]", and make the table again'
        )
    raise UserError(
        "no generated molecules are recorded there; gmpool generate train or gmpool run molgan "
        "records some"
    )


def last_common(lines: Iterable[Line]) -> int:
    """The last iteration that all runs have come to; there must be one run."""
    return min(int(run.iterations[-1]) for line in lines for run in line.runs)


def numbers(values: Iterable[float]) -> list[float]:
    """Without NaN."""
    return [value for value in values if value == value]


def _is_sound(found: Any) -> bool:
    """Whether it is as runs record it: rows may come from anybody."""
    if not isinstance(found, Mapping):
        return False
    iterations = found.get("iteration")
    if not isinstance(iterations, list) or not iterations:
        return False
    if not all(type(n) is int for n in iterations):
        return False
    if not all(earlier < later for earlier, later in pairwise(iterations)):
        return False
    curves = [found.get(name) for name in CURVES]
    return all(
        isinstance(curve, list)
        and len(curve) == len(iterations)
        and all(value is None or type(value) in _NUMBERS for value in curve)
        for curve in curves
    )
