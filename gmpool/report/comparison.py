"""Lines on sets as one comparison: beside the paper, with tests and ranks."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from gmpool.record import Row
from gmpool.report.metrics import METRICS
from gmpool.report.paper import published, published_count, published_method
from gmpool.report.score import Score
from gmpool.report.statistics import (
    average_ranks,
    best_or_comparable,
    critical_difference,
    friedman,
)

Scores = Mapping[tuple[str, str], Score]
"""By label of the line and set."""


@dataclass(frozen=True)
class Cell:
    """One line of a table on one set, and what is recorded of it."""

    label: str
    """What the table calls the line."""
    method: str
    dataset: str
    asked: int
    """How many runs there should be."""
    rows: Sequence[Row]
    left_out: int = 0
    """Rows on other data, or other splits, of the same name: they are never mixed."""
    changed: bool = False
    """It has options of its own, so that it is not what the paper measured."""


@dataclass(frozen=True)
class Standing:
    """One line over all sets."""

    label: str
    method: str
    best: tuple[int, int] | None
    """(best or comparable on, of the sets with a test); None without tests."""
    best_corrected: tuple[int, int] | None
    paper: str | None
    """The paper's count, such as "10/10"."""
    rank: float | None
    """The average over `Comparison.ranked_on`, 1 the best; None for a line without scores."""
    parameters: tuple[int, int] | None
    """Fewest and most over the sets."""
    seconds: float


@dataclass(frozen=True)
class Comparison:
    """All that a table of lines and sets says."""

    name: str
    title: str
    part: str
    """Which score is compared, of `gmpool.report.score.PARTS`."""
    paper: str | None
    """Which of the paper's tables stands beside."""
    datasets: tuple[str, ...]
    metrics: Mapping[str, str]
    """Of the sets that have rows."""
    scores: Scores
    """Every pair is there."""
    standings: tuple[Standing, ...]
    ranked_on: tuple[str, ...]
    """The sets on which all lines that have scores at all have one."""
    rows: Sequence[Row]
    """Those that are counted."""

    @property
    def labels(self) -> list[str]:
        return [s.label for s in self.standings]

    @cached_property
    def ranks(self) -> dict[str, float]:
        """The average ranks by label, of the lines that have one."""
        return {s.label: s.rank for s in self.standings if s.rank is not None}

    @cached_property
    def friedman(self) -> float | None:
        """The p-value for "no line is better than another"; None below 2 sets or 3 lines."""
        return friedman(_upward(self.scores, self.metrics, list(self.ranks), self.ranked_on))

    @cached_property
    def critical_difference(self) -> float | None:
        """Nemenyi's, for the average ranks; None below 2 sets or 3 lines."""
        if len(self.ranked_on) < 2 or len(self.ranks) < 3:
            return None
        return critical_difference(len(self.ranks), len(self.ranked_on))


def compare(
    cells: Sequence[Cell], *, name: str, title: str, part: str = "test", paper: str | None = None
) -> Comparison:
    """part: of `PARTS`. paper: test, valid, ablation or leaderboard; none: no paper beside."""
    lines = {cell.label: cell for cell in cells}
    datasets = tuple(dict.fromkeys(cell.dataset for cell in cells))
    known = {label: _paper_name(cell, paper) for label, cell in lines.items()}
    beside = {
        (label, d): published(d, there, paper) if paper and there else None
        for label, there in known.items()
        for d in datasets
    }
    scores = {place: Score(paper=number) for place, number in beside.items()}
    for cell in cells:
        place = cell.label, cell.dataset
        scores[place] = Score.of(
            cell.rows, part, asked=cell.asked, left_out=cell.left_out, paper=beside[place]
        )
    metrics = {cell.dataset: cell.rows[0].metric for cell in cells if cell.rows}
    scores |= _judged(scores, metrics)
    ranked = [label for label in lines if any(scores[label, d].scores for d in datasets)]
    ranked_on = tuple(d for d in datasets if ranked and all(scores[n, d].scores for n in ranked))
    ranks = average_ranks(_upward(scores, metrics, ranked, ranked_on))
    standings = [
        _standing(
            cell,
            [scores[label, d] for d in datasets],
            ranks.get(label),
            published_count(there, paper) if paper and (there := known[label]) else None,
        )
        for label, cell in lines.items()
    ]
    return Comparison(
        name=name, title=title, part=part, paper=paper, datasets=datasets, metrics=metrics,
        scores=scores, standings=tuple(standings), ranked_on=ranked_on,
        rows=[row for cell in cells for row in cell.rows],
    )  # fmt: skip


def _paper_name(cell: Cell, paper: str | None) -> str | None:
    if paper is None:
        return None
    return published_method(cell.label, cell.method, paper, changed=cell.changed)


def _judged(scores: Scores, metrics: Mapping[str, str]) -> dict[tuple[str, str], Score]:
    """The scores with a verdict, set by set."""
    judged = {}
    for dataset, metric in metrics.items():
        there = {label: s for (label, d), s in scores.items() if d == dataset and s.scores}
        if len(there) < 2:
            continue  # alone is not best
        samples = {label: score.for_test for label, score in there.items()}
        verdicts = best_or_comparable(samples, higher=METRICS[metric].higher)
        for label, verdict in verdicts.items():
            judged[label, dataset] = replace(there[label], verdict=verdict)
    return judged


def _upward(
    scores: Scores, metrics: Mapping[str, str], labels: Collection[str], datasets: Collection[str]
) -> list[dict[str, float]]:
    """Per set the means by label, turned so that more is better."""
    sign = {d: 1 if METRICS[metrics[d]].higher else -1 for d in datasets}
    return [
        {n: sign[d] * mean for n in labels if (mean := scores[n, d].mean) is not None}
        for d in datasets
    ]


def _standing(cell: Cell, scores: list[Score], rank: float | None, paper: str | None) -> Standing:
    tested = [s.verdict for s in scores if s.tested]
    parameters = [s.parameters for s in scores if s.parameters is not None]
    count = len(tested)
    return Standing(
        label=cell.label,
        method=cell.method,
        best=(sum(v.comparable for v in tested), count) if tested else None,
        best_corrected=(sum(v.comparable_corrected for v in tested), count) if tested else None,
        paper=paper,
        rank=rank,
        parameters=(min(parameters), max(parameters)) if parameters else None,
        seconds=sum(s.seconds for s in scores),
    )
