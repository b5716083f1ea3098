"""Whether runs draw few molecules again and again, as generators of this kind do."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from gmpool.report.grid import Column, Square
from gmpool.report.number_text import NONE
from gmpool.tasks.generate.recorded import Line, numbers

COLLAPSED = 5.0
"""Percent of the valid draws: a run that ends with fewer distinct ones has collapsed."""
OFTEN_VALID = 50.0
"""Percent of the draws."""
COLLAPSE_NOTES = (
    "distinct: valid molecules without repeats among the draws at the end",
    f"collapsed: runs that end with less than {COLLAPSED:g} % distinct ones among the valid draws, "
    "as published GANs of this family do",
    "the fewer draws are valid, the larger is the share of distinct ones: one valid draw is "
    "100 % unique, which is why their number stands here",
    f"often valid: runs with a strict validity above {OFTEN_VALID:g} % at any iteration; none "
    "valid: runs without a valid molecule at the end, which do not count as collapsed",
)


class Collapse(NamedTuple):
    """How the runs of a line end."""

    distinct_median: float | None
    """Of the number of distinct valid molecules, as the next."""
    distinct_smallest: float | None
    collapsed: int
    """Runs; so are the next."""
    often_valid: int
    none_valid: int

    @classmethod
    def of(cls, line: Line, last: int) -> Collapse:
        distinct = numbers(run.at("distinct", last) for run in line.runs)
        return cls(
            statistics.median(distinct) if distinct else None,
            min(distinct, default=None),
            sum(run.at("unique", last) < COLLAPSED for run in line.runs),
            sum(run.highest("strict", last) > OFTEN_VALID for run in line.runs),
            sum(count == 0 for count in distinct),
        )


def collapse_columns(lines: Sequence[Line], last: int) -> list[Column]:
    found = [Collapse.of(line, last) for line in lines]
    counts = [len(line.runs) for line in lines]

    def runs(heading: str, which: Sequence[int], small: str) -> Column:
        shown = [f"{n} of {of}" if of else NONE for n, of in zip(which, counts, strict=True)]
        return Column(heading, [Square(text) for text in shown], small)

    return [
        Column("distinct", [Square(_count(one.distinct_median)) for one in found], "median"),
        Column("distinct", [Square(_count(one.distinct_smallest)) for one in found], "smallest"),
        runs("collapsed", [one.collapsed for one in found], f"unique < {COLLAPSED:g} %"),
        runs("often valid", [one.often_valid for one in found], f"strict > {OFTEN_VALID:g} %"),
        runs("none valid", [one.none_valid for one in found], "at the end"),
    ]


def _count(value: float | None) -> str:
    """A median may lie between two."""
    return NONE if value is None else f"{value:,.1f}".removesuffix(".0")
