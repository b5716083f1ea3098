"""Tests of two lines on the seeds that both have."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from gmpool.report.grid import Column, Grid, Square
from gmpool.report.number_text import NONE
from gmpool.report.provenance import facts
from gmpool.report.statistics import LEVEL, Paired, holm, paired
from gmpool.tasks.generate.recorded import Line, Run

PAIRED = ("mean", "mean-wide", "mincut", "gmpool")
"""The methods whose lines are tested against each other: those that the paper compares, and a mean
with as many parameters."""
FEWEST = 3
"""Seeds, without which there is no test."""
_MANY = 8
"""Seeds, with which Wilcoxon's test can find a small p."""
_SCORES = ("loose", "strict")


@dataclass(frozen=True)
class PairTest:
    """Two lines, by one score: "loose" or "strict", over "training" or at the "end"."""

    first: str
    second: str
    score: str
    part: str
    seeds: int
    """Those that both have."""
    found: Paired | None
    """None with too few seeds."""
    t_holm: float | None = None
    """The p-values, corrected for all pairs with this score; as the next."""
    wilcoxon_holm: float | None = None

    def to_json(self, dataset: str) -> dict[str, Any]:
        found = self.found
        return {
            "dataset": dataset, "first": self.first, "second": self.second, "score": self.score,
            "part": self.part, "common_seeds": self.seeds,
            "difference": found and found.difference,
            "p_t": found and found.t, "p_t_holm": self.t_holm,
            "p_wilcoxon": found and found.wilcoxon, "p_wilcoxon_holm": self.wilcoxon_holm,
        }  # fmt: skip


def pair_tests(lines: Sequence[Line], last: int) -> list[PairTest]:
    """Of all pairs of lines with a method of PAIRED, score by score."""
    among = [line for line in lines if line.method in PAIRED and line.runs]
    tests = []
    for part, number in (("training", Run.average), ("end", Run.at)):
        for score in _SCORES:
            listed = []
            for a, b in combinations(among, 2):
                first, second = (_by_seed(line, score, last, number) for line in (a, b))
                common = [seed for seed in first if seed in second]
                scores = [first[s] for s in common], [second[s] for s in common]
                found = paired(*scores) if len(common) >= FEWEST else None
                listed.append((a.label, b.label, score, part, len(common), found))
            known = [found for *_, found in listed if found]
            t = iter(holm([found.t for found in known]))
            wilcoxon = iter(holm([found.wilcoxon for found in known]))
            tests += [
                PairTest(*one, next(t), next(wilcoxon)) if one[-1] else PairTest(*one)
                for one in listed
            ]
    return tests


def _by_seed(
    line: Line, score: str, last: int, number: Callable[[Run, str, int], float]
) -> dict[int, float]:
    found = {run.seed: number(run, score, last) for run in line.runs}
    return {seed: value for seed, value in found.items() if value == value}


def paired_grid(
    dataset: str, lines: Sequence[Line], last: int, *, title: str, notes: Sequence[str] = ()
) -> Grid | None:
    """None where no two lines have seeds enough to be tested. notes: of the runs, below those of
    the tests."""
    tests = pair_tests(lines, last)
    if not any(test.found for test in tests):
        return None

    def words(heading: str, texts: Sequence[str]) -> Column:
        return Column(heading, [Square(text) for text in texts], left=True)

    return Grid(
        title=title,
        columns=[
            words("first", [t.first for t in tests]),
            words("second", [t.second for t in tests]),
            words("score", [f"{t.score}, {_PARTS[t.part]}" for t in tests]),
            Column("seeds", [Square(str(t.seeds)) for t in tests], "common"),
            Column("difference", [_difference(t) for t in tests], "first − second"),
            Column("t-test", [_p(t.found and t.found.t) for t in tests], "p", essential=False),
            Column("t-test", [_p(t.t_holm, bold=True) for t in tests], "p, Holm"),
            Column("Wilcoxon", [_p(t.found and t.found.wilcoxon) for t in tests], "p",
                   essential=False),
            Column("Wilcoxon", [_p(t.wilcoxon_holm, bold=True) for t in tests], "p, Holm"),
        ],
        notes=[*_notes(tests, last), *notes],
        records=[t.to_json(dataset) for t in tests],
        facts=facts([run.row for line in lines for run in line.runs]),
    )  # fmt: skip


_PARTS = {"training": "over the training", "end": "at the end"}


def _difference(test: PairTest) -> Square:
    if test.found is None:
        return Square(f"fewer than {FEWEST} seeds")
    return Square(f"{test.found.difference:+.2f}")


def _p(value: float | None, *, bold: bool = False) -> Square:
    if value is None:
        return Square(NONE)
    text = "< 0.0001" if value < 0.0001 else f"{value:.4f}"
    return Square(text, best=bold and value <= LEVEL)


def _notes(tests: Sequence[PairTest], last: int) -> list[str]:
    tested = [t for t in tests if t.found]
    said = [
        "difference: mean over the seeds that both lines have, in percentage points of validity, "
        f"averaged up to iteration {last:,} or at it",
        "t-test: paired; Wilcoxon: signed-rank test; both two-sided",
    ]
    if tested:
        pairs = len({(t.first, t.second) for t in tested})
        said.append(
            f"Holm: corrected for the {pairs} {'pair' if pairs == 1 else 'pairs'} of one score; "
            f"bold: p ≤ {LEVEL:g} after it"
        )
    fewest = min((t.seeds for t in tested), default=_MANY)
    if fewest < _MANY:
        said.append(
            f"with {fewest} seeds no p of Wilcoxon's test is below {2 / 2**fewest:.2g}, however "
            "large the difference"
        )
    return said
