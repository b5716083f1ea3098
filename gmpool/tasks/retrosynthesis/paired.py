"""Tests of two lines: over the seeds that both have, and over the reactions that both ranked."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from gmpool.report.grid import Column, Grid, Square
from gmpool.report.number_text import NONE
from gmpool.report.provenance import facts
from gmpool.report.statistics import LEVEL, Paired, holm, paired
from gmpool.tasks.retrosynthesis.recorded import Line, Run
from gmpool.tasks.retrosynthesis.top_k import MERGED, PUBLISHED

PAIRED = ("mean", "mincut", "gmpool")
"""The methods whose lines are tested against each other: those that the paper compares."""
FEWEST = 3
"""Seeds, without which there is no test over them."""
TESTED = ((PUBLISHED, 1), (PUBLISHED, 10), (MERGED, 10))
"""Decodings, with k. The first place is the same in both."""


class OverReactions(NamedTuple):
    """Two lines on the same n reactions."""

    n: int
    difference: float
    """In percentage points; the first less the second."""
    error: float
    """The standard error of the difference, as reactions are drawn."""
    p: float
    """Two-sided."""
    exact: bool
    """Whether it is McNemar's exact test, of one seed; else the normal approximation."""


@dataclass(frozen=True)
class PairTest:
    """Two lines, by top-k of one decoding."""

    first: str
    second: str
    decoding: str
    k: int
    seeds: int
    """Those that both have."""
    difference: float | None
    """Mean over these seeds, in percentage points; None without any."""
    over_seeds: Paired | None
    """None with too few seeds."""
    over_reactions: OverReactions | None
    """None where they did not rank the same reactions."""
    seeds_holm: float | None = None
    """The p-values, corrected for all pairs by this score; as the next."""
    reactions_holm: float | None = None

    @property
    def score(self) -> str:
        return f"top-{self.k}" + (", merged" if self.decoding == MERGED else "")

    def to_json(self, dataset: str) -> dict[str, Any]:
        t, z = self.over_seeds, self.over_reactions
        return {
            "dataset": dataset, "first": self.first, "second": self.second,
            "score": f"top-{self.k}", "decoding": self.decoding, "common_seeds": self.seeds,
            "difference": self.difference,
            "p_seeds": t and t.t, "p_seeds_holm": self.seeds_holm,
            "common_reactions": z and z.n, "error_reactions": z and z.error,
            "p_reactions": z and z.p, "p_reactions_holm": self.reactions_holm,
            "exact": z and z.exact,
        }  # fmt: skip


def over_reactions(first: np.ndarray, second: np.ndarray) -> OverReactions:
    """first, second: bool [S, n], whether each of n > 1 reactions was found with each of S seeds.

    With one seed the test is McNemar's, exact. With more the mean over seeds is taken of each
    reaction, and the mean over reactions of its difference counts as normal.
    """
    seeds, n = first.shape
    each = first.mean(0) - second.mean(0)  # [n]
    difference = float(each.mean())
    error = float(each.std(ddof=1)) / math.sqrt(n)
    if seeds == 1:
        only_first, only_second = int((each > 0).sum()), int((each < 0).sum())
        apart = only_first + only_second
        p = float(stats.binomtest(only_first, apart).pvalue) if apart else 1.0
    elif not each.any():
        p = 1.0
    else:
        p = 2 * float(stats.norm.sf(abs(difference) / error)) if error else 0.0
    return OverReactions(n, 100 * difference, 100 * error, p, seeds == 1)


def pair_tests(lines: Sequence[Line]) -> list[PairTest]:
    """Of all pairs of lines with a method of PAIRED, score by score."""
    among = [line for line in lines if line.method in PAIRED and line.runs]
    tests = []
    for decoding, k in TESTED:
        tests += _corrected([_test(a, b, decoding, k) for a, b in combinations(among, 2)])
    return tests


def _test(a: Line, b: Line, decoding: str, k: int) -> PairTest:
    first, second = (_by_seed(line, decoding, k) for line in (a, b))
    pairs = [(first[seed], second[seed]) for seed in first if seed in second]
    scores = [[run.at(decoding, k) for run in side] for side in zip(*pairs, strict=True)]
    return PairTest(
        a.label,
        b.label,
        decoding,
        k,
        len(pairs),
        float(np.mean(scores[0]) - np.mean(scores[1])) if pairs else None,
        paired(*scores) if len(pairs) >= FEWEST else None,
        over_reactions(*_hits(pairs, decoding, k)) if _same_reactions(pairs) else None,
    )


def _by_seed(line: Line, decoding: str, k: int) -> dict[int, Run]:
    return {run.seed: run for run in line.runs if not math.isnan(run.at(decoding, k))}


def _same_reactions(pairs: Sequence[tuple[Run, Run]]) -> bool:
    runs = [run for pair in pairs for run in pair]
    data = {(run.row.data_digest, run.row.split_digest, run.reactions) for run in runs}
    return len(data) == 1 and all(run.reactions and run.reactions > 1 for run in runs)


def _hits(pairs: Sequence[tuple[Run, Run]], decoding: str, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Of both sides: bool [S, n]"""
    first, second = (
        np.stack([run.ranks[decoding] for run in side]) for side in zip(*pairs, strict=True)
    )
    return (first > 0) & (first <= k), (second > 0) & (second <= k)


def _corrected(tests: Sequence[PairTest]) -> list[PairTest]:
    """By one score."""
    t = iter(holm([test.over_seeds.t for test in tests if test.over_seeds]))
    z = iter(holm([test.over_reactions.p for test in tests if test.over_reactions]))
    return [
        replace(
            test,
            seeds_holm=next(t) if test.over_seeds else None,
            reactions_holm=next(z) if test.over_reactions else None,
        )
        for test in tests
    ]


def paired_grid(
    dataset: str, lines: Sequence[Line], *, title: str, notes: Sequence[str] = ()
) -> Grid | None:
    """None where no two lines have a seed in common. notes: of the runs, below those of the
    tests."""
    tests = pair_tests(lines)
    if not any(test.seeds for test in tests):
        return None

    def words(heading: str, texts: Sequence[str]) -> Column:
        return Column(heading, [Square(text) for text in texts], left=True)

    zs = [test.over_reactions for test in tests]
    return Grid(
        title=title,
        columns=[
            words("first", [t.first for t in tests]),
            words("second", [t.second for t in tests]),
            words("score", [t.score for t in tests]),
            Column("seeds", [Square(str(t.seeds)) for t in tests], "common"),
            Column("difference", [_points(t.difference, "+") for t in tests], "first − second"),
            Column("seeds: p", [_p(t.over_seeds and t.over_seeds.t) for t in tests], "t-test",
                   essential=False),
            Column("seeds: p, Holm", [_p(t.seeds_holm, bold=True) for t in tests], "t-test"),
            Column("reactions: error", [_points(z and z.error) for z in zs], "of difference",
                   essential=False),
            Column("reactions: p", [_p(z and z.p) for z in zs], _name(tests), essential=False),
            Column("reactions: p, Holm", [_p(t.reactions_holm, bold=True) for t in tests],
                   _name(tests)),
        ],
        notes=[*_notes(tests), *notes],
        records=[t.to_json(dataset) for t in tests],
        facts=facts([run.row for line in lines for run in line.runs]),
    )  # fmt: skip


def _name(tests: Sequence[PairTest]) -> str:
    """Of the tests over reactions."""
    exact = {t.over_reactions.exact for t in tests if t.over_reactions}
    names = {frozenset({True}): "McNemar", frozenset({False}): "normal"}
    return names.get(frozenset(exact), "")


def _points(value: float | None, sign: str = "") -> Square:
    # + 0.0: no -0.00
    return Square(NONE if value is None else f"{round(value, 2) + 0.0:{sign}.2f}")


def _p(value: float | None, *, bold: bool = False) -> Square:
    if value is None:
        return Square(NONE)
    text = "< 0.0001" if value < 0.0001 else f"{value:.4f}"
    return Square(text, best=bold and value <= LEVEL)


def _notes(tests: Sequence[PairTest]) -> list[str]:
    said = [
        "difference: mean over the seeds that both lines have, in percentage points",
        f"over seeds: paired t-test of the runs' top-k, two-sided, from {FEWEST} common seeds on; "
        "the sample is the seeds, and the test reactions are taken as they are",
        "over reactions: the sample is the test reactions, and the trained models are taken as "
        "they are: a small p says that these models differ, and does not cover the spread of seeds",
    ]
    zs = [t.over_reactions for t in tests if t.over_reactions]
    if any(not z.exact for z in zs):
        said.append(
            "normal: of each reaction the share of common seeds that find it among the first k, "
            "and of the differences of these shares the mean by its standard error, two-sided"
        )
    if any(z.exact for z in zs):
        said.append(
            "McNemar: with one common seed, his exact test of the reactions that one line alone "
            "finds among the first k, two-sided"
        )
    if len(zs) < sum(t.seeds > 0 for t in tests):
        said.append("a pair without common data, or without recorded ranks, has no test over them")
    if sizes := {z.n for z in zs}:
        said.append(f"reactions: {' or '.join(f'{n:,}' for n in sorted(sizes))}")
    pairs = len({(t.first, t.second) for t in tests if t.over_seeds or t.over_reactions})
    if pairs:
        said.append(
            f"Holm: corrected for the {pairs} {'pair' if pairs == 1 else 'pairs'} of one score; "
            f"bold: p ≤ {LEVEL:g} after it"
        )
    said.append("merged: each outcome counts once, which does not change top-1")
    return said
