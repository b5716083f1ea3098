"""The tests that a comparison of methods rests on.

Samples are scores of seeds, folds averaged before. The tests of two methods are Welch's, two-sided:
with them every bold number of the paper's tables 1 and 8 comes out bold.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scipy import stats

LEVEL = 0.05


class Sample(NamedTuple):
    """What a test needs to know of n scores."""

    mean: float
    std: float
    n: int

    @classmethod
    def of(cls, scores: Sequence[float]) -> Sample:
        """From the scores themselves; at least two."""
        return cls(statistics.fmean(scores), statistics.stdev(scores), len(scores))


def welch(a: Sample, b: Sample) -> float:
    """The p-value, two-sided, of Welch's t-test for equal means."""
    if a.std == b.std == 0:
        return 1.0 if a.mean == b.mean else 0.0
    return float(stats.ttest_ind_from_stats(*a, *b, equal_var=False).pvalue)


class Paired(NamedTuple):
    """Two methods on the same n seeds."""

    difference: float
    """Mean over seeds of the first less the second."""
    n: int
    t: float
    """The p-value, two-sided, of the paired t-test."""
    wilcoxon: float
    """The same of Wilcoxon's signed-rank test; seeds without a difference have no part."""


def paired(a: Sequence[float], b: Sequence[float]) -> Paired:
    """a, b: scores of the same seeds in the same order; at least two."""
    differences = [x - y for x, y in zip(a, b, strict=True)]
    mean, std, n = Sample.of(differences)
    if not any(differences):
        return Paired(0.0, n, 1.0, 1.0)
    t = 2 * float(stats.t.sf(abs(mean) / std * math.sqrt(n), n - 1)) if std else 0.0
    return Paired(mean, n, t, float(stats.wilcoxon(differences).pvalue))


def interval(scores: Sequence[float], level: float = LEVEL) -> tuple[float, float] | None:
    """Where the mean lies with confidence 1 - level, by the t-distribution; None below two."""
    if len(scores) < 2:
        return None
    mean, std, n = Sample.of(scores)
    reach = float(stats.t.ppf(1 - level / 2, n - 1)) * std / math.sqrt(n)
    return mean - reach, mean + reach


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction for several tests: the adjusted p-values, in the order given.

    The smallest of m is multiplied by m, the next by m - 1, and so on; none falls below one
    before it.
    """
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


class Verdict(NamedTuple):
    """How a method stands against the best of its set."""

    comparable: bool
    """The best, or not significantly worse than it."""
    comparable_corrected: bool
    """The same with Holm's correction over the tests on this set."""
    p: float | None
    """None for the best itself, and where there are not two scores on both sides."""
    p_corrected: float | None


UNTESTED = Verdict(False, False, None, None)


def best_or_comparable(
    samples: Mapping[str, Sequence[float]], *, higher: bool
) -> dict[str, Verdict]:
    """One verdict per method on one set.

    Where two methods or more have several scores, those with one, or with less than half of the
    most, are not compared: a mean of few may be the best by chance, and a test of few finds no
    difference. Elsewhere the best mean alone is comparable, without a test.
    """
    most = max(map(len, samples.values()), default=0)
    for fewest in (max(2.0, most / 2), 2):
        enough = {name: scores for name, scores in samples.items() if len(scores) >= fewest}
        if len(enough) > 1:
            outside = dict.fromkeys(samples.keys() - enough.keys(), UNTESTED)
            return {**outside, **_against_the_best(enough, higher)}
    return _against_the_best(samples, higher) if samples else {}


def _against_the_best(samples: Mapping[str, Sequence[float]], higher: bool) -> dict[str, Verdict]:
    means = {name: statistics.fmean(scores) for name, scores in samples.items()}
    best = (max if higher else min)(means, key=means.__getitem__)
    tested = [
        name
        for name, scores in samples.items()
        if name != best and len(scores) > 1 and len(samples[best]) > 1
    ]
    p = [welch(Sample.of(samples[best]), Sample.of(samples[name])) for name in tested]
    top = {name: mean == means[best] for name, mean in means.items()}
    verdicts = {name: Verdict(top[name], top[name], None, None) for name in samples}
    for name, plain, corrected in zip(tested, p, holm(p), strict=True):
        verdicts[name] = Verdict(plain > LEVEL, corrected > LEVEL, plain, corrected)
    return verdicts


def average_ranks(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Mean rank of each method over sets, 1 the best; equal scores share the mean of their ranks.

    scores: one mapping method -> score per set, more is better, all with the same methods.
    """
    ranks = [stats.rankdata([-value for value in of_set.values()]) for of_set in scores]
    return {
        name: float(statistics.fmean(of_set[column] for of_set in ranks))
        for column, name in enumerate(scores[0] if scores else ())
    }


def friedman(scores: Sequence[Mapping[str, float]]) -> float | None:
    """The p-value for "no method is better than another"; None below 2 sets or 3 methods.

    scores: as in `average_ranks`.
    """
    if len(scores) < 2 or len(scores[0]) < 3:
        return None
    if all(len(set(of_set.values())) == 1 for of_set in scores):
        return 1.0
    names = scores[0]
    return float(stats.friedmanchisquare(*([s[name] for s in scores] for name in names)).pvalue)


def critical_difference(methods: int, sets: int, level: float = LEVEL) -> float:
    """Nemenyi: average ranks over `sets` that differ by less do not differ significantly."""
    q = float(stats.studentized_range.ppf(1 - level, methods, math.inf)) / math.sqrt(2)
    return q * math.sqrt(methods * (methods + 1) / (6 * sets))


def cliques(ranks: Mapping[str, float], difference: float) -> list[list[str]]:
    """The largest groups, best first, whose ranks all lie within the critical difference."""
    names = sorted(ranks, key=ranks.__getitem__)
    groups: list[list[str]] = []
    end = 0
    for start, first in enumerate(names):
        group = [n for n in names[start:] if ranks[n] - ranks[first] < difference]
        if len(group) > 1 and start + len(group) > end:
            groups.append(group)
        end = max(end, start + len(group))
    return groups
