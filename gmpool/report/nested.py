"""Nested cross-validation: in each outer fold inner folds choose a line, and its test score counts.

The score of the line that is best on the test parts is too good, for these parts have chosen it.
Models that are joined of inner folds have predicted each graph that is not for the test by a member
that had not seen it; what that scored chooses, and the test part is asked once.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gmpool.record import Row
from gmpool.report.grid import Column, Grid, Square
from gmpool.report.metrics import METRICS, with_unit
from gmpool.report.number_text import pair, scored
from gmpool.report.recorded_data import is_own
from gmpool.report.score import Score

Line = tuple[str, str, Sequence[Row]]
"""A set, what the line is called there, and its rows."""


class Chosen(NamedTuple):
    """What inner folds chose on one set."""

    dataset: str
    by_line: Counter[str]
    """How often each line was taken."""
    rows: list[Row]
    """Of the lines that were taken, one for each seed and outer fold."""
    left_out: int
    """Outer folds that not all lines have done."""


def chosen_by_inner_folds(lines: Iterable[Line]) -> list[Chosen]:
    """For each set with several lines whose models are joined of inner folds."""
    sets: dict[tuple[str, str], list[tuple[str, Sequence[Row]]]] = defaultdict(list)
    for dataset, label, rows in lines:
        if rows and rows[0].model.get("members_by") == "folds":
            sets[dataset, rows[0].data_digest].append((label, rows))
    made = (_chosen(dataset, found) for (dataset, _), found in sets.items() if len(found) > 1)
    return [one for one in made if one.rows]


def _chosen(dataset: str, lines: Sequence[tuple[str, Sequence[Row]]]) -> Chosen:
    runs: dict[tuple[int, str], list[tuple[str, Row]]] = defaultdict(list)
    for label, rows in lines:
        for row in rows:
            if row.valid is not None:
                runs[row.seed, row.split_digest].append((label, row))
    whole = [found for found in runs.values() if len(found) == len(lines)]
    best = [max(found, key=lambda one: _worth(one[1])) for found in whole]
    return Chosen(
        dataset,
        Counter(label for label, _ in best),
        [row for _, row in best],
        len(runs) - len(whole),
    )


def _worth(row: Row) -> float:
    """More is better."""
    assert row.valid is not None
    return row.valid if METRICS[row.metric].higher else -row.valid


def nested_grid(lines: Iterable[Line]) -> Grid | None:
    """None where no set has several such lines."""
    found = chosen_by_inner_folds(lines)
    if not found:
        return None
    scores = [Score.of(one.rows) for one in found]
    notes = [
        "in each outer fold the line with the best score on its inner folds was taken; the test "
        "parts had no say, so that this is what the choice among these lines is worth on new data"
    ]
    if any(score.over_folds for score in scores):
        notes.append("ᶠ: one seed only, the deviation is over folds")
    notes += [
        f"{one.dataset}: {one.left_out} of the runs are left out, which not all lines have done"
        for one in found
        if one.left_out
    ]
    return Grid(
        title="Chosen by inner folds",
        columns=[
            Column("dataset", [Square(one.dataset) for one in found], left=True),
            Column("taken", [Square(_counted(one.by_line)) for one in found], left=True),
            Column("metric", [Square(with_unit(one.rows[0].metric)) for one in found], left=True),
            Column(
                "test",
                [_square(*each) for each in zip(found, scores, strict=True)],
            ),
            Column("outer folds", [Square(f"{len(one.rows)}") for one in found]),
        ],
        notes=notes,
        records=[
            {
                "dataset": one.dataset, "metric": one.rows[0].metric, "runs": len(one.rows),
                "test_mean": score.mean, "test_std": score.std, "std_over": score.over,
                "taken": _counted(one.by_line),
            }
            for one, score in zip(found, scores, strict=True)
        ],
    )  # fmt: skip


def _square(found: Chosen, score: Score) -> Square:
    first = found.rows[0]
    own = is_own(first)
    text = scored(first.metric, score.mean, score.std) if own else pair(score.mean, score.std)
    return Square(text, marks="f" * score.over_folds)


def _counted(by_line: Counter[str]) -> str:
    return ", ".join(f"{label} {count} ×" for label, count in by_line.most_common())
