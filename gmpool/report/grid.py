"""A comparison as a grid: a row per line of the plan, a column per set, then columns over all sets.

The grid is made once; grid_text.py, latex.py and comparison_page.py show it.
"""

from __future__ import annotations

from dataclasses import dataclass

from gmpool.report.comparison import Comparison, Standing
from gmpool.report.score import Score
from gmpool.report.statistics import LEVEL
from gmpool.report.tables import UNITS, duration, pair

NONE = "–"
MARKS = {"f": "ᶠ", "h": "ʰ", "i": "ⁱ", "d": "ᵈ"}
"""Letters that `notes` explains, raised."""


@dataclass(frozen=True)
class Square:
    """One place of the grid."""

    text: str
    small: str = ""
    """The paper's, and how much ours is more: a second line, or in brackets."""
    marks: str = ""
    """Letters of MARKS."""
    best: bool = False
    best_corrected: bool = False

    @property
    def raised(self) -> str:
        return "".join(MARKS[letter] for letter in self.marks)


@dataclass(frozen=True)
class Column:
    heading: str
    squares: list[Square]
    """One per line of the plan."""
    small: str = ""
    """The second line of the heading."""


def columns(comparison: Comparison) -> list[Column]:
    """The first has the labels."""
    c = comparison
    lines = c.standings
    sets = [
        Column(d, [_square(c.scores[label, d]) for label in c.labels], _unit(c.metrics.get(d)))
        for d in c.datasets
    ]
    over_all = [Column("parameters", [Square(_range(s.parameters)) for s in lines])]
    if any(s.best for s in lines) or any(s.paper for s in lines):
        over_all.insert(0, Column("best or comparable", [_count(s) for s in lines], "of sets"))
    if c.ranks and len(lines) > 1:
        ranks = [Square(NONE if s.rank is None else f"{s.rank:.2f}") for s in lines]
        over_all.insert(-1, Column("average rank", ranks, _sets(len(c.ranked_on))))
    times = [Square(duration(s.seconds) if s.seconds else NONE) for s in lines]
    return [
        Column("method", [Square(label) for label in c.labels]),
        *sets,
        *over_all,
        Column("time", times),
    ]


def _sets(count: int) -> str:
    return "over 1 set" if count == 1 else f"over {count} sets"


def _unit(metric: str | None) -> str:
    return "" if metric is None else f"{metric} {UNITS[metric]}".strip()


def _square(score: Score) -> Square:
    paper = score.paper
    small = "" if paper is None else pair(paper.mean, paper.std)
    if score.difference is not None:
        small += f", {round(score.difference, 2) + 0.0:+.2f}"  # + 0.0: no -0.00
    verdict = score.verdict
    marks = {
        "f": score.over == "folds" and score.std is not None,
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


def notes(comparison: Comparison, bold: str = "bold") -> list[str]:
    """What a reader must know to trust the table, one sentence each.

    bold: how the best are shown.
    """
    c = comparison
    scores = list(c.scores.values())
    squares = [_square(s) for s in scores]
    marked = set("".join(s.marks for s in squares))
    found, asked = sum(s.runs for s in scores), sum(s.asked for s in scores)
    said = [
        f"{c.plan.part}: mean ± deviation over seeds, folds averaged first; {found:,} of {asked:,} "
        f"runs of the plan are recorded"
    ]
    if c.plan.paper and any(s.paper for s in scores):
        said.append(
            f"beside or below ours: the paper's number ({c.plan.paper}), and ours less the paper's"
        )
    if any(s.tested for s in scores):
        said.append(
            f"{bold}: the best of the lines here and those not significantly worse (Welch's "
            f"t-test over seeds, two-sided, p > 0.05)"
        )
        if any(s.best_corrected and not s.best for s in squares):
            said.append("ʰ: not significantly worse after Holm's correction for the tests on a set")
    if any(s.scores and len(s.for_test) < 2 for s in scores):
        said.append(
            f"significance needs at least two seeds: a line with one is not compared where two "
            f"lines have more; where not, only the best mean is {bold}, and that is no test"
        )
    tested_on = {dataset for (_, dataset), s in c.scores.items() if s.tested}
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
    return said
