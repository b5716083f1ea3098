"""The rows of a plan as one comparison: every line on every set, beside the paper, with tests."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from gmpool.engine.cell import Line
from gmpool.engine.plan import Plan
from gmpool.engine.store import Row
from gmpool.report.paper import Published, published, published_count, published_method
from gmpool.report.recorded import rows_of_cells
from gmpool.report.score import Score, measured
from gmpool.report.statistics import (
    average_ranks,
    best_or_comparable,
    critical_difference,
    friedman,
)
from gmpool.tasks.metrics import HIGHER_IS_BETTER


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
    """All that a table of a plan says."""

    plan: Plan
    metrics: dict[str, str]
    """Of the sets that have rows."""
    scores: dict[tuple[str, str], Score]
    """By label of the line and set; every pair is there."""
    standings: tuple[Standing, ...]
    ranked_on: tuple[str, ...]
    """The sets on which all lines that have scores at all have one."""
    rows: list[Row]
    """Those that are counted."""

    @property
    def datasets(self) -> tuple[str, ...]:
        return self.plan.datasets

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


def compare(plan: Plan, rows: Iterable[Row]) -> Comparison:
    """Rows that are no runs of the plan are passed over."""
    chosen, lines, cells = plan.datasets, plan.lines, plan.cells()
    names = [line.label for line in lines]
    found = rows_of_cells(cells, rows)
    scores = {(line.label, d): Score(paper=_paper(plan, line, d)) for line in lines for d in chosen}
    for cell, recorded in zip(cells, found, strict=True):
        place = cell.line.label, cell.dataset
        scores[place] = measured(recorded, cell.runs, plan.part, paper=scores[place].paper)
    metrics = {c.dataset: r.rows[0]["metric"] for c, r in zip(cells, found, strict=True) if r.rows}
    for dataset, metric in metrics.items():
        there = {name: s for name in names if (s := scores[name, dataset]).scores}
        if len(there) < 2:
            continue  # alone is not best
        samples = {name: score.for_test for name, score in there.items()}
        verdicts = best_or_comparable(samples, higher=HIGHER_IS_BETTER[metric])
        for name, verdict in verdicts.items():
            scores[name, dataset] = replace(there[name], verdict=verdict)
    ranked = [name for name in names if any(scores[name, d].scores for d in chosen)]
    ranked_on = tuple(d for d in chosen if ranked and all(scores[n, d].scores for n in ranked))
    ranks = average_ranks(_upward(scores, metrics, ranked, ranked_on))
    return Comparison(
        plan=plan,
        metrics=metrics,
        scores=scores,
        standings=tuple(
            _standing(plan, line, [scores[line.label, d] for d in chosen], ranks.get(line.label))
            for line in lines
        ),
        ranked_on=ranked_on,
        rows=[row for recorded in found for row in recorded.rows],
    )


def _paper(plan: Plan, line: Line, dataset: str) -> Published | None:
    name = _paper_method(plan, line)
    return published(dataset, name, plan.paper) if plan.paper and name else None


def _paper_method(plan: Plan, line: Line) -> str | None:
    if plan.paper is None:
        return None
    return published_method(line.label, line.method, plan.paper, changed=bool(line.options))


def _upward(
    scores: dict[tuple[str, str], Score],
    metrics: dict[str, str],
    labels: Collection[str],
    datasets: Collection[str],
) -> list[dict[str, float]]:
    """Per set the means by label, turned so that more is better."""
    sign = {d: 1 if HIGHER_IS_BETTER[metrics[d]] else -1 for d in datasets}
    return [
        {n: sign[d] * mean for n in labels if (mean := scores[n, d].mean) is not None}
        for d in datasets
    ]


def _standing(plan: Plan, line: Line, scores: list[Score], rank: float | None) -> Standing:
    tested = [s.verdict for s in scores if s.tested]
    parameters = [s.parameters for s in scores if s.parameters is not None]
    name = _paper_method(plan, line)
    return Standing(
        label=line.label,
        method=line.method,
        best=(sum(v.comparable for v in tested), len(tested)) if tested else None,
        best_corrected=(sum(v.comparable_corrected for v in tested), len(tested))
        if tested
        else None,
        paper=published_count(name, plan.paper) if plan.paper and name else None,
        rank=rank,
        parameters=(min(parameters), max(parameters)) if parameters else None,
        seconds=sum(s.seconds for s in scores),
    )
