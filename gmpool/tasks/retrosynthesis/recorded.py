"""What is recorded of ranked reactants: for each line of a table its runs, with top-k and ranks."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gmpool.errors import StoreError, UserError
from gmpool.record import Row
from gmpool.report.comparison import Cell
from gmpool.report.number_text import pair
from gmpool.report.paper import published, published_method
from gmpool.tasks.retrosynthesis.top_k import DECODINGS, K

FREQUENCY = "frequency"
"""The method that learns nothing."""
_RECORDED = "retrosynthesis"
_NUMBERS = (int, float)


class OfClass(NamedTuple):
    """One class of reactions. top: as of `Run`."""

    reactions: int
    top: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Run:
    """One seed."""

    row: Row
    top: Mapping[str, np.ndarray]
    """By decoding: percent for each of K, float [6]; NaN where there was nothing to count."""
    ranks: Mapping[str, np.ndarray]
    """By decoding: of each test reaction, int [n], 0 where it was not found. May be empty."""
    by_class: Mapping[str, OfClass]
    """By the name of the class; may be empty."""

    @classmethod
    def of(cls, row: Row) -> Run:
        """A StoreError where the row is not as it was recorded."""
        found = row.more[_RECORDED]
        if not _is_sound(found):
            raise StoreError(
                f"the recorded row {row.key} cannot be used: what it says of ranked reactants is "
                f"incomplete or of another type; remove its line from the run store, and run it "
                f"again"
            )
        ranks = found.get("ranks", {})
        return cls(
            row,
            _tops(found["top"]),
            {name: np.array(ranks[name]) for name in ranks},
            {
                name: OfClass(one["reactions"], _tops(one))
                for name, one in found.get("by_class", {}).items()
            },
        )

    @property
    def seed(self) -> int:
        return self.row.seed

    @property
    def reactions(self) -> int | None:
        """How many were ranked; None where the row does not say."""
        return next((len(ranks) for ranks in self.ranks.values()), None)

    def at(self, decoding: str, k: int) -> float:
        """Top-k in percent."""
        return float(self.top[decoding][K.index(k)])


@dataclass(frozen=True)
class Line:
    """One line of a table on one set."""

    label: str
    method: str
    asked: int
    """How many runs there should be."""
    runs: tuple[Run, ...]
    """By seed, one of each."""
    untested: int
    """Rows of runs that had no test part."""
    left_out: int
    """Rows on other data of the same name."""
    paper: Mapping[int, float]
    """What the paper has for it, by k; empty where it has nothing."""

    def tops(self, decoding: str, k: int) -> list[float]:
        """Of the runs that have a number."""
        return numbers(run.at(decoding, k) for run in self.runs)

    def text(self, values: Sequence[float]) -> str:
        """Mean and deviation of what its runs have; what learns nothing does not deviate."""
        mean, std = spread(values)
        return pair(mean, None if self.method == FREQUENCY and not std else std)


def lines_by_set(cells: Iterable[Cell]) -> dict[str, list[Line]]:
    """By the name of the set; lines without runs are there too."""
    found: dict[str, list[Line]] = defaultdict(list)
    for cell in cells:
        by_seed: dict[int, Row] = {}
        for row in cell.rows:
            if _has_test(row):
                by_seed.setdefault(row.seed, row)
        runs = tuple(Run.of(by_seed[seed]) for seed in sorted(by_seed))
        untested = sum(not _has_test(row) for row in cell.rows)
        paper = _paper(cell)
        made = Line(cell.label, cell.method, cell.asked, runs, untested, cell.left_out, paper)
        found[cell.dataset].append(made)
    return dict(found)


def require_runs(lines: Mapping[str, Sequence[Line]]) -> None:
    """Raises where there is nothing to show."""
    every = [line for of_set in lines.values() for line in of_set]
    if any(line.runs for line in every):
        return
    if untested := sum(line.untested for line in every):
        raise UserError(
            f"none of the recorded runs ({untested}) was tested: their sets have no test part"
        )
    raise UserError(
        "no ranked reactants are recorded there; gmpool retro train or gmpool run gln records some"
    )


def numbers(values: Iterable[float]) -> list[float]:
    """Without NaN."""
    return [value for value in values if value == value]


def spread(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Mean and deviation."""
    mean = statistics.fmean(values) if values else None
    return mean, statistics.stdev(values) if len(values) > 1 else None


def _paper(cell: Cell) -> dict[int, float]:
    found = {}
    for k in K:
        part = f"top-{k}"
        there = published_method(cell.label, cell.method, part, changed=cell.changed)
        if there and (number := published(cell.dataset, there, part)):
            found[k] = number.mean
    return found


def _has_test(row: Row) -> bool:
    """A row with a wrong thing in the place of its scores counts, so that it is named."""
    found = row.more.get(_RECORDED)
    return found is not None and not (isinstance(found, Mapping) and "top" not in found)


def _tops(found: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {name: np.array(found[name], dtype=float) for name in DECODINGS}


def _is_sound(found: Any) -> bool:
    """Whether it is as runs record it: rows may come from anybody."""
    if not isinstance(found, Mapping) or not _are_tops(found.get("top")):
        return False
    ranks, classes = found.get("ranks", {}), found.get("by_class", {})
    if not isinstance(ranks, Mapping) or not isinstance(classes, Mapping):
        return False
    listed = [ranks.get(name) for name in DECODINGS] if ranks else []
    if not all(
        isinstance(each, list) and each and all(type(n) is int and n >= 0 for n in each)
        for each in listed
    ):
        return False
    if len({len(each) for each in listed if each}) > 1:
        return False
    return all(_are_tops(one) and _is_count(one.get("reactions")) for one in classes.values())


def _is_count(value: Any) -> bool:
    return type(value) is int and value > 0


def _are_tops(found: Any) -> bool:
    return isinstance(found, Mapping) and all(
        isinstance(values := found.get(name), list)
        and len(values) == len(K)
        and all(value is None or type(value) in _NUMBERS for value in values)
        for name in DECODINGS
    )
