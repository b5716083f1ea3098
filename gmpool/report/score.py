"""What is known of one line on one set: folds are averaged first, then seeds."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gmpool.record import Row
from gmpool.report.metrics import METRICS
from gmpool.report.paper import Published
from gmpool.report.statistics import UNTESTED, Verdict

PARTS = {
    "test": "test",
    "valid": "valid, at the epoch whose weights are tested",
    "best-valid": "best-valid, the best validation score of any epoch, as the paper's authors log",
}
"""Which score of a run a table shows, and what a note calls it."""


def score_of(row: Row, part: str) -> float | None:
    """None where it is not defined, or of a curve without all its points not known."""
    if part == "test":
        return row.test
    points = row.curve.get("valid_metric", ())
    if part == "valid" or not points:  # nothing was fitted in epochs
        return row.valid
    known = [point for point in points if point is not None]
    if "every" in row.curve or not known:
        return None
    return max(known) if METRICS[row.metric].higher else min(known)


def averaged(values: Iterable[tuple[int, float | None]]) -> tuple[tuple[float, ...], str]:
    """(the means of the seeds, "seeds"), or of one seed (the scores of its folds, "folds").

    values: seed and score of each run; those that are not defined do not count.
    """
    by_seed: dict[int, list[float]] = defaultdict(list)
    for seed, value in values:
        if value is not None:
            by_seed[seed].append(value)
    seeds = [statistics.fmean(scores) for scores in by_seed.values()]
    folds = next(iter(by_seed.values()), [])
    return (tuple(folds), "folds") if len(seeds) == 1 else (tuple(seeds), "seeds")


@dataclass(frozen=True)
class Score:
    runs: int = 0
    asked: int = 0
    scores: tuple[float, ...] = ()
    """One per seed, so that the deviation is over seeds, as the paper reports it; one per fold
    where there is one seed."""
    over: str = "seeds"
    """Of what the scores are: "seeds" or "folds"."""
    parameters: int | None = None
    seconds: float = 0.0
    left_out: int = 0
    """Rows on other data, or other splits, of the same name."""
    paper: Published | None = None
    verdict: Verdict = UNTESTED
    """Against the best on the set."""

    @classmethod
    def of(
        cls,
        rows: Sequence[Row],
        part: str = "test",
        *,
        asked: int = 0,
        left_out: int = 0,
        paper: Published | None = None,
    ) -> Score:
        """part: of PARTS. Runs whose score is not defined are runs without a score."""
        scores, over = averaged((row.seed, score_of(row, part)) for row in rows)
        return cls(
            runs=len(rows),
            asked=asked,
            scores=scores,
            over=over,
            parameters=rows[0].parameters if rows else None,
            seconds=sum(row.seconds for row in rows),
            left_out=left_out,
            paper=paper,
        )

    @property
    def mean(self) -> float | None:
        return statistics.fmean(self.scores) if self.scores else None

    @property
    def std(self) -> float | None:
        return statistics.stdev(self.scores) if len(self.scores) > 1 else None

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        return None if self.mean is None or self.paper is None else self.mean - self.paper.mean

    @property
    def incomplete(self) -> bool:
        return 0 < self.runs < self.asked

    @property
    def over_folds(self) -> bool:
        """Whether there is a deviation, and it is over the folds of one seed."""
        return self.over == "folds" and self.std is not None

    @property
    def tested(self) -> bool:
        """Whether the verdict rests on several seeds, and not on one mean."""
        best = self.verdict.p is None and self.verdict.comparable
        return self.over == "seeds" and (best or self.verdict.p is not None)

    @property
    def for_test(self) -> tuple[float, ...]:
        """The scores of seeds: folds of one seed are no sample of it."""
        return self.scores if self.over == "seeds" else (statistics.fmean(self.scores),)
