"""What runs scored on each label column, in the column's own unit: rows that say it are read here,
and shown as a grid."""

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gmpool.record import Row
from gmpool.report.grid import Column, Grid, Square
from gmpool.report.metrics import METRICS, with_unit
from gmpool.report.number_text import measured, pair
from gmpool.report.row_checks import changed, is_list
from gmpool.report.run_intervals import run_intervals
from gmpool.report.score import Score, averaged
from gmpool.report.statistics import interval

SHOWN = ("roc_auc", "pr_auc", "accuracy", "f1", "rmse", "mae", "r2")
"""In the order of their columns."""
MOST_LINES = 30
"""A line with more label columns is shown as their mean, where all are in percent."""
TEST_GRAPHS = "test graphs"
MOST_NOTES = 8
"""So many reasons are told below a grid."""
SMALL = "95 % interval"
OF_YES = (
    "f1, pr_auc (average precision): of yes/no labels those of yes, of named classes the mean over "
    "the classes"
)
_OVER = {
    TEST_GRAPHS: "one run: from 1,000 draws of its test graphs (bootstrap)",
    "seeds": "the mean over seeds, folds averaged first (t-distribution)",
    "folds": "the mean over the folds of one seed (t-distribution)",
}
Line = tuple[str, str, str, Sequence["LabelScore"]]
"""Set, method, what the line is called, and its scores."""


@dataclass(frozen=True)
class LabelScore:
    """One score of one line on one label column."""

    column: str
    metric: str
    test: Score
    valid: float | None
    count: tuple[int, int]
    """Fewest and most labels in the test part of a run."""
    undefined: Mapping[str, int]
    """Why it is not defined on the test part: the runs by reason."""
    interval: tuple[float, float] | None = None
    """Where the test score lies, at 95 %."""
    interval_over: str = ""
    """What it comes of: the test graphs of one run, else seeds or folds."""

    def to_json(self) -> dict[str, Any]:
        return {
            "label_column": self.column, "metric": self.metric, "runs": self.test.runs,
            "test_mean": self.test.mean, "test_std": self.test.std, "std_over": self.test.over,
            "interval": self.interval and list(self.interval),
            "interval_over": self.interval_over or None,
            "valid_mean": self.valid, "test_labels": list(self.count),
            "undefined": dict(self.undefined),
        }  # fmt: skip

    def record(self) -> dict[str, Any]:
        """Plain, for one line of CSV."""
        reasons = [f"{why} ({runs})" for why, runs in self.undefined.items()]
        low, high = self.interval or (None, None)
        found = {k: v for k, v in self.to_json().items() if k != "interval"}
        written = {"test_labels": _range(self.count), "undefined": "; ".join(reasons)}
        return {**found, "interval_low": low, "interval_high": high, **written}


def scores_by_label(rows: Sequence[Row]) -> list[LabelScore]:
    """Of the rows of one line that say it, label column by label column."""
    saying = [(row.seed, found) for row in rows if (found := _said(row)) is not None]
    columns = dict.fromkeys(name for _, found in saying for name in found["labels"])
    of_one = run_intervals(rows[0]) if len(rows) == 1 else {}
    made = []
    for column in columns:
        parts = {
            part: [(seed, _of(found, part, column)) for seed, found in saying]
            for part in ("test", "valid")
        }
        here = {name for of_part in parts.values() for _, scores in of_part for name in scores}
        for metric in (name for name in SHOWN if name in here):
            test = [(seed, scores.get(metric)) for seed, scores in parts["test"]]
            valid = [scores[metric] for _, scores in parts["valid"] if metric in scores]
            defined = [value for value in valid if value is not None]
            scores, over = averaged(test)
            counts = [int(found["count"] or 0) for _, found in parts["test"] if "count" in found]
            reasons = [_reason(found, column, metric) for _, found in saying]
            ends = of_one.get((column, metric)) if scores else None
            over_what = TEST_GRAPHS if ends else ""
            if len(scores) > 1:
                ends, over_what = _possible(metric, interval(scores)), over
            made.append(
                LabelScore(
                    column,
                    metric,
                    Score(runs=len(saying), scores=scores, over=over),
                    statistics.fmean(defined) if defined else None,
                    (min(counts, default=0), max(counts, default=0)),
                    Counter(filter(None, reasons)),
                    ends,
                    over_what,
                )
            )
    return made


def _possible(metric: str, ends: tuple[float, float] | None) -> tuple[float, float] | None:
    """Without what no score can be: less than no error, more than all."""
    if ends is None or metric == "r2":
        return ends
    most = 100.0 if METRICS[metric].unit == "%" else math.inf
    return max(0.0, ends[0]), min(most, ends[1])


def _of(found: Mapping[str, Any], part: str, column: str) -> dict[str, float | None]:
    """The scores of a run on a label column, and on how many labels they rest."""
    if part not in found or column not in found["labels"]:
        return {}
    at = found["labels"].index(column)
    return {name: values[at] for name, values in found[part].items() if name != "undefined"}


def _reason(found: Mapping[str, Any], column: str, metric: str) -> str | None:
    """Why a run has no such score on its test part; None where it has one."""
    if "test" not in found:
        return "no test part"
    reasons = found["test"].get("undefined", {})
    why: str | None = reasons.get(column, {}).get(metric)
    return why


def _said(row: Row) -> Mapping[str, Any] | None:
    """What a row says of its label columns; None in rows from before that."""
    found = row.more.get("scores")
    if found is None or _is_sound(found):
        said: Mapping[str, Any] | None = found
        return said
    raise changed(row, "scores by label")


def _is_sound(found: Any) -> bool:
    """Whether it is as `gmpool.tasks.label_scores` makes it: rows may come from anybody."""
    if not (isinstance(found, Mapping) and is_list(found.get("labels"), str)):
        return False
    for part in (found[name] for name in ("test", "valid") if name in found):
        if not isinstance(part, Mapping) or not isinstance(part.get("undefined", {}), Mapping):
            return False
        reasons = part.get("undefined", {}).values()
        if not all(isinstance(r, Mapping) and is_list(list(r.values()), str) for r in reasons):
            return False
        for values in (values for name, values in part.items() if name != "undefined"):
            if not is_list(values, float, int, type(None)) or len(values) != len(found["labels"]):
                return False
    return True


def label_grid(lines: Sequence[Line]) -> Grid:
    """A line for each label column of each line that has scores, a column for each score."""
    shown = [
        (dataset, label, column, scores)
        for dataset, _, label, found in lines
        for column, scores in _columns(found)
    ]
    every = [score for *_, scores in shown for score in scores.values()]
    metrics = [name for name in SHOWN if any(score.metric == name for score in every)]
    return Grid(
        title="Scores by label",
        columns=[
            Column("dataset", [Square(one[0]) for one in shown], left=True, essential=False),
            Column("method", [Square(one[1]) for one in shown], left=True),
            Column("label", [Square(one[2]) for one in shown], left=True),
            Column("labels", [_count(one[3]) for one in shown], "in the test part"),
            *(
                Column(with_unit(name), [_square(one[3].get(name)) for one in shown])
                for name in metrics
            ),
        ],
        notes=_notes(every, metrics),
        small_is=SMALL,
        records=[
            {"dataset": dataset, "method": method, "label": label, **score.record()}
            for dataset, method, label, found in lines
            for score in found
        ],
    )


def _columns(found: Sequence[LabelScore]) -> list[tuple[str, dict[str, LabelScore]]]:
    by_column: dict[str, dict[str, LabelScore]] = {}
    for score in found:
        by_column.setdefault(score.column, {})[score.metric] = score
    in_percent = all(METRICS[score.metric].unit == "%" for score in found)
    if len(by_column) <= MOST_LINES or not in_percent:
        return list(by_column.items())
    name = f"mean of {len(by_column)}"
    metrics = dict.fromkeys(score.metric for score in found)
    return [(name, {m: _mean(name, [s for s in found if s.metric == m]) for m in metrics})]


def _mean(name: str, found: Sequence[LabelScore]) -> LabelScore:
    """Over label columns that are in one unit."""
    means = [score.test.mean for score in found if score.test.mean is not None]
    counts = [n for score in found for n in score.count]
    reasons = Counter[str]()
    for score in found:
        reasons.update(score.undefined)
    mean = Score(found[0].test.runs, scores=(statistics.fmean(means),) if means else ())
    return LabelScore(name, found[0].metric, mean, None, (min(counts), max(counts)), reasons)


def _square(score: LabelScore | None) -> Square:
    if score is None:
        return Square("")
    written = measured if score.metric in ("rmse", "mae") else pair
    marks = "f" * score.test.over_folds + "u" * bool(score.undefined)
    ends = score.interval
    small = f"{written(ends[0], None)} to {written(ends[1], None)}" if ends else ""
    return Square(written(score.test.mean, score.test.std), small, marks)


def _count(scores: Mapping[str, LabelScore]) -> Square:
    counts = [n for score in scores.values() for n in score.count]
    return Square(_range((min(counts), max(counts))))


def _range(count: tuple[int, int]) -> str:
    low, high = count
    return f"{low:,}" if low == high else f"{low:,} – {high:,}"


def _notes(every: Sequence[LabelScore], metrics: Sequence[str]) -> list[str]:
    said = []
    if any(score.test.std is not None and not score.test.over_folds for score in every):
        said.append("mean ± deviation over seeds, folds averaged first")
    if "rmse" in metrics:
        said.append("rmse, mae: in units of the label; r2 has none, and 1 is the best")
    if "f1" in metrics:
        said.append(OF_YES)
    said += [
        f"{SMALL}, of {words}"
        for over, words in _OVER.items()
        if any(score.interval_over == over for score in every)
    ]
    if any(score.test.over_folds for score in every):
        said.append("ᶠ: one seed only, the deviation is over folds")
    runs, of = Counter[tuple[str, str]](), dict[tuple[str, str], list[str]]()
    for score in every:
        for why, count in score.undefined.items():
            runs[score.column, why] = max(runs[score.column, why], count)
            names = of.setdefault((score.column, why), [])
            names += [score.metric] if score.metric not in names else []
    for (column, why), names in list(of.items())[:MOST_NOTES]:
        few = runs[column, why]
        said.append(
            f"ᵘ: {', '.join(names)} of {column} not defined in {few} run{'s' * (few != 1)}: {why}"
        )
    if len(of) > MOST_NOTES:
        said.append(f"ᵘ: and {len(of) - MOST_NOTES} more; --format csv has all")
    return said
