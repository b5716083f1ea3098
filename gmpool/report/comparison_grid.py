"""A comparison as a grid: a row per line, a column per set, then columns over all sets."""

from typing import Any

from gmpool.report.comparison import Comparison, Standing
from gmpool.report.grid import Column, Grid, Picture, Square
from gmpool.report.metrics import NRMSE, with_unit
from gmpool.report.number_text import NONE, duration, pair
from gmpool.report.plots import critical_differences, intervals, no_diagram
from gmpool.report.provenance import facts, provenance_note
from gmpool.report.score import PARTS, Score
from gmpool.report.statistics import LEVEL


def comparison_grid(comparison: Comparison) -> Grid:
    c = comparison
    records = _records(c)
    return Grid(
        title=c.title,
        columns=_columns(c),
        notes=_notes(c),
        underlined="underlined: likewise after Holm's correction for the tests on a set"
        if any(s.tested for s in c.scores.values())
        else "",
        records=records,
        whole=_whole(c, records),
        facts=facts(c.rows),
        pictures=(
            Picture("intervals", "Scores and the paper's", lambda: intervals(c)),
            Picture(
                "critical-difference",
                "Average ranks",
                lambda: critical_differences(c),
                no_diagram(c)
                or "A bar joins lines whose average ranks do not differ "
                "significantly (Nemenyi, p < 0.05).",
            ),
        ),
    )


def _columns(c: Comparison) -> list[Column]:
    lines = c.standings
    sets = [
        Column(
            d,
            [_square(c.scores[label, d]) for label in c.labels],
            with_unit(c.metrics[d]) if d in c.metrics else "",
        )
        for d in c.datasets
    ]
    over_all = []
    if any(s.best for s in lines) or any(s.paper for s in lines):
        over_all.append(Column("best or comparable", [_count(s) for s in lines], "of sets"))
    if c.ranks and len(lines) > 1:
        ranks = [Square(NONE if s.rank is None else f"{s.rank:.2f}") for s in lines]
        count = len(c.ranked_on)
        over_all.append(Column("average rank", ranks, f"over {count} set{'s' * (count != 1)}"))
    times = [Square(duration(s.seconds) if s.seconds else NONE) for s in lines]
    return [
        Column("method", [Square(label) for label in c.labels], left=True),
        *sets,
        *over_all,
        Column("parameters", [Square(_range(s.parameters)) for s in lines]),
        Column("time", times),
    ]


def _square(score: Score) -> Square:
    paper = score.paper
    small = "" if paper is None else pair(paper.mean, paper.std)
    if score.difference is not None:
        small += f", {round(score.difference, 2) + 0.0:+.2f}"  # + 0.0: no -0.00
    verdict = score.verdict
    marks = {
        "f": score.over_folds,
        "h": verdict.comparable_corrected and not verdict.comparable,
        "i": score.incomplete,
        "d": score.left_out > 0,
    }
    return Square(
        pair(score.mean, score.std),
        small,
        "".join(letter for letter, applies in marks.items() if applies),
        verdict.comparable,
        verdict.comparable_corrected,
    )


def _count(standing: Standing) -> Square:
    text = NONE
    if standing.best and standing.best_corrected:
        text = "{}/{}".format(*standing.best)
        if standing.best != standing.best_corrected:
            text += ", {}/{} ʰ".format(*standing.best_corrected)
    return Square(text, standing.paper or "")


def _range(numbers: tuple[int, int] | None) -> str:
    if numbers is None:
        return NONE
    low, high = numbers
    return f"{low:,}" if low == high else f"{low:,} – {high:,}"


def _notes(c: Comparison) -> list[str]:
    scores = list(c.scores.values())
    squares = [_square(s) for s in scores]
    marked = set("".join(s.marks for s in squares))
    found, asked = sum(s.runs for s in scores), sum(s.asked for s in scores)
    said = [
        f"{PARTS[c.part]}: mean ± deviation over seeds, folds averaged first; {found:,} of "
        f"{asked:,} runs of the plan are recorded"
    ]
    if c.paper and any(s.paper for s in scores):
        said.append(
            f"beside or below ours: the paper's number ({c.paper}), and ours less the paper's"
        )
    if "nrmse" in c.metrics.values():
        said.append(NRMSE)
    tested_on = {dataset for (_, dataset), s in c.scores.items() if s.tested}
    if tested_on:
        said.append(
            "bold: the best of the lines here and those not significantly worse (Welch's "
            "t-test over seeds, two-sided, p > 0.05)"
        )
        if any(s.best_corrected and not s.best for s in squares):
            said.append("ʰ: not significantly worse after Holm's correction for the tests on a set")
    if any(s.scores and len(s.for_test) < 2 for s in scores):
        said.append(
            "significance needs at least two seeds: a line with one is not compared where two "
            "lines have more; where not, only the best mean is bold, and that is no test"
        )
    if any(
        len(s.for_test) > 1 and not s.tested and dataset in tested_on
        for (_, dataset), s in c.scores.items()
    ):
        said.append(
            "a line with less than half the seeds of another on a set is not compared there"
        )
    if "f" in marked:
        said.append("ᶠ: one seed only, the deviation is over folds")
    if "i" in marked:
        said.append(
            "ⁱ: fewer runs than the plan asks for; gmpool table with --format csv counts them"
        )
    if "d" in marked:
        said.append("ᵈ: rows on other data or splits of the same name are left out")
    if c.ranks and len(c.ranks) > 1:
        on = ", ".join(c.ranked_on) or "there is no such set"
        said.append(f"average rank: 1 is the best; over the sets that all lines have: {on}")
    if c.friedman is not None and c.critical_difference is not None:
        finds = "which is not significant" if c.friedman > LEVEL else "so they are not"
        said.append(
            f"Friedman test that all lines are equal: p = {c.friedman:.2g}, {finds}; average ranks "
            f"differ significantly from {c.critical_difference:.2f} on (Nemenyi, p < 0.05)"
        )
    return [*said, *filter(None, [provenance_note(c.rows)])]


def _records(c: Comparison) -> list[dict[str, Any]]:
    """One per line and set, those without rows as well."""
    return [
        {
            "plan": c.name,
            "line": standing.label,
            "method": standing.method,
            "dataset": dataset,
            "part": c.part,
            "metric": c.metrics.get(dataset),
            **_numbers(c.scores[standing.label, dataset]),
        }
        for standing in c.standings
        for dataset in c.datasets
    ]


def _numbers(s: Score) -> dict[str, Any]:
    return {
        "mean": s.mean, "std": s.std, "std_over": s.over if s.std is not None else None,
        "runs": s.runs, "asked": s.asked,
        "incomplete": s.runs < s.asked, "left_out": s.left_out,
        "best_or_comparable": s.verdict.comparable,
        "best_or_comparable_corrected": s.verdict.comparable_corrected,
        "tested": s.tested, "p": s.verdict.p, "p_corrected": s.verdict.p_corrected,
        "paper_mean": s.paper and s.paper.mean, "paper_std": s.paper and s.paper.std,
        "difference": s.difference, "parameters": s.parameters, "seconds": round(s.seconds, 3),
    }  # fmt: skip


def _whole(c: Comparison, records: list[dict[str, Any]]) -> dict[str, Any]:
    """The records and what is known over all sets."""
    return {
        "plan": c.name,
        "title": c.title,
        "ranked_on": c.ranked_on,
        "friedman_p": c.friedman,
        "critical_difference": c.critical_difference,
        "lines": [
            {
                "line": s.label,
                "method": s.method,
                "best_or_comparable": s.best,
                "best_or_comparable_corrected": s.best_corrected,
                "paper_best_or_comparable": s.paper,
                "average_rank": s.rank,
                "parameters": s.parameters,
                "seconds": round(s.seconds, 3),
            }
            for s in c.standings
        ],
        "cells": records,
    }
