"""What recorded reconstructions scored: per line (a method with its settings), ratio and metric."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from gmpool.errors import StoreError
from gmpool.record import Row
from gmpool.report.paper import method_name, method_rank
from gmpool.report.statistics import UNTESTED, Verdict, best_or_comparable
from gmpool.report.summary import differing, label, settings_of

NUMBERS = (int, float)
PAPER_RATIO = 0.25  # of the paper's table of synthetic graphs


class ScoreKind(NamedTuple):
    title: str
    percent: bool
    """A share in percent, of which more is better; else an error."""


SCORES: Mapping[str, ScoreKind] = {
    "validity": ScoreKind("validity", True),
    "exact_types": ScoreKind("exact match, atom types", True),
    "exact_smiles": ScoreKind("exact match, SMILES of elements", True),
    "accuracy": ScoreKind("accuracy of atom types", True),
    "error_x": ScoreKind("error of X", False),
    "error_a": ScoreKind("error of A", False),
}


@dataclass(frozen=True)
class Tally:
    """One metric of one line on one set at one ratio, over seeds."""

    dataset: str
    method: str
    label: str
    """The paper's name of the method, and the settings that tell it from other lines."""
    ratio: float
    objective: str
    """What was trained for: "x" or "a"."""
    metric: str
    scores: Mapping[int, float]
    """By seed."""
    asked: int
    """How many seeds there should be."""
    paper: float | None = None
    verdict: Verdict = UNTESTED
    """Against the best line with the same metric, objective and ratio on the set."""

    @property
    def mean(self) -> float:
        return statistics.fmean(self.scores.values())

    @property
    def std(self) -> float | None:
        return statistics.stdev(self.scores.values()) if len(self.scores) > 1 else None

    @property
    def incomplete(self) -> bool:
        return len(self.scores) < self.asked

    def to_json(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset, "label": self.label, "method": self.method,
            "ratio": self.ratio, "objective": self.objective, "metric": self.metric,
            "mean": self.mean, "std": self.std, "seeds": len(self.scores), "asked": self.asked,
            "best_or_comparable": self.verdict.comparable, "p": self.verdict.p,
            "paper": self.paper, "scores": {str(k): v for k, v in self.scores.items()},
        }  # fmt: skip


def require_scores(rows: Iterable[Row]) -> None:
    """Raises where a row of a reconstruction lacks what every one of them has."""
    for row in rows:
        scores, ratio = row.more.get("scores"), row.model.get("ratio")
        fits = {
            "scores": isinstance(scores, Mapping)
            and all(value is None or type(value) in NUMBERS for value in scores.values()),
            "config.model.ratio": type(ratio) in NUMBERS,
            "config.model.objective": type(row.model.get("objective")) is str,
            "predicted": type(row.more.get("predicted", "")) is str,
        }
        for name, good in fits.items():
            if row.task == "reconstruct" and not good:
                raise StoreError(
                    f"the recorded row {row.key} cannot be used: {name} is missing or of another "
                    f"type; remove its line from the run store, and run it again"
                )


def tallies(rows: Iterable[Row], *, seeds: int | None = None) -> list[Tally]:
    """Every score of the rows of reconstructions; rows of other tasks have no part.

    Rows that differ in a setting, or in their data, are different lines. seeds: how many each line
    should have; without it, as many as the line of the set that has most.
    """
    found = [row for row in rows if row.task == "reconstruct"]
    require_scores(found)
    labels = labels_of(found)
    scores: dict[tuple[str, str, str, float, str, str], dict[int, float]] = defaultdict(dict)
    for row in found:
        for metric in SCORES:
            if (value := row.more["scores"].get(metric)) is not None:
                at = (row.dataset, row.method, labels[row.key])
                key = (*at, row.model["ratio"], row.model["objective"], metric)
                scores[key].setdefault(row.seed, value)
    most: dict[str, int] = defaultdict(int)
    for (dataset, *_), by_seed in scores.items():
        most[dataset] = max(most[dataset], len(by_seed))
    listed = [
        Tally(*key, by_seed, seeds or most[key[0]], _paper(*key)) for key, by_seed in scores.items()
    ]
    listed.sort(key=lambda t: (t.dataset, method_rank(t.method), t.label))
    return _judged(listed)


def _judged(listed: Sequence[Tally]) -> list[Tally]:
    columns: dict[tuple[str, str, float, str], dict[str, list[float]]] = defaultdict(dict)
    for t in listed:
        samples = columns[t.dataset, t.objective, t.ratio, t.metric]
        samples[t.label] = list(t.scores.values())
    verdicts = {
        key: best_or_comparable(samples, higher=SCORES[key[-1]].percent)
        for key, samples in columns.items()
    }
    return [
        replace(t, verdict=verdicts[t.dataset, t.objective, t.ratio, t.metric][t.label])
        for t in listed
    ]


def _paper(
    dataset: str, method: str, label: str, ratio: float, objective: str, metric: str
) -> float | None:
    if SCORES[metric].percent or ratio != PAPER_RATIO:
        return None
    line = method + label.removeprefix(_name(method))
    return published_error(dataset, line, objective, metric)


def labels_of(rows: Sequence[Row]) -> dict[str, str]:
    """Key of a row -> label of its line.

    Shown are options of a pooling (GMT's only where they vary: its published settings have some)
    and whatever else varies among rows of one method for one purpose, the data included.
    """
    settings = {row.key: _settings(row) for row in rows}
    varying: dict[tuple[str, str], set[str]] = defaultdict(set)
    purposes = ((row, row.model["ratio"], row.model["objective"]) for row in rows)
    for (dataset, method, *_), names in differing(
        ((row.dataset, row.method, *purpose), settings[row.key]) for row, *purpose in purposes
    ).items():
        varying[dataset, method] |= names
    labels = {}
    for row in rows:
        mine = settings[row.key]
        own = {key for key in mine if key.startswith("pool.") and row.method != "gmt"}
        shown = varying[row.dataset, row.method] | own
        labels[row.key] = label(_name(row.method), mine, shown)
    return labels


def _name(method: str) -> str:
    return "random assignment" if method == "random" else method_name(method)


def _settings(row: Row) -> dict[str, Any]:
    """All that a line is; ratio and objective are columns of the table."""
    line = {k: v for k, v in settings_of(row).items() if k not in ("ratio", "objective")}
    return {**line, "data": row.data_digest[:8], "split": row.split_digest[:8]}


ERRORS = ("error_x", "error_a")
# line -> set -> objective -> (error of X, error of A)
PUBLISHED: dict[str, dict[str, dict[str, tuple[float, float]]]] = {
    "diffpool": {
        "grid": {"x": (0.0833, 12110194), "a": (0.3908, 0.0856)},
        "ring": {"x": (0.0032, 617.7706), "a": (0.6208, 0.0948)},
    },
    "mincut": {
        "grid": {"x": (0.0001, 0.0092), "a": (1.2883, 0.0051)},
        "ring": {"x": (0.0005, 0.0424), "a": (0.5026, 0.0128)},
    },
    "mincut (normalise=False)": {
        "grid": {"x": (0.0002, 201.7619), "a": (2.0261, 0.0616)},
        "ring": {"x": (0.0003, 68.23), "a": (0.5211, 0.0725)},
    },
    "gmt": {
        "grid": {"x": (0.0001, 0.0102), "a": (0.2353, 0.0084)},
        "ring": {"x": (0.0, 0.0331), "a": (0.5475, 0.0324)},
    },
}


def published_error(dataset: str, line: str, objective: str, error: str) -> float | None:
    """None where the paper has none.

    line: a method, with its options where the paper has a line for them, as in
    "mincut (normalise=False)"; objective: "x" or "a"; error: "error_x" or "error_a".
    """
    errors = PUBLISHED.get(line, {}).get(dataset)
    return None if errors is None else errors[objective][ERRORS.index(error)]
