"""The runs of a store as a grid: one line per set, method, settings and data."""

import json
import statistics
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from gmpool.record import Row
from gmpool.report.by_label import LabelScore, label_grid, scores_by_label
from gmpool.report.figures import learning_curves
from gmpool.report.grid import Column, Grid, Picture, Square
from gmpool.report.metrics import NRMSE, with_unit
from gmpool.report.number_text import NONE, duration, pair, scored
from gmpool.report.own_grids import own_json
from gmpool.report.paper import published
from gmpool.report.provenance import facts, provenance_note
from gmpool.report.recorded_data import is_own
from gmpool.report.score import Score

ESSENTIAL = ("dataset", "method", "metric", "test", "paper", "difference", "time")
"""The columns that a narrow terminal has room for."""


@dataclass(frozen=True)
class Summary:
    """One method with one set of settings on one set of graphs."""

    label: str
    """The method, and what tells it from other lines of the method on the set."""
    rows: Sequence[Row]
    score: Score

    @property
    def dataset(self) -> str:
        return self.rows[0].dataset

    @property
    def method(self) -> str:
        return self.rows[0].method

    @property
    def valid(self) -> float | None:
        found = [row.valid for row in self.rows if row.valid is not None]
        return statistics.fmean(found) if found else None

    @cached_property
    def by_label(self) -> list[LabelScore]:
        return scores_by_label(self.rows)

    @property
    def options(self) -> str:
        return options_of(self.rows[0])

    @property
    def is_own(self) -> bool:
        """Whether it is on users' own data, of which the paper knows nothing."""
        return is_own(self.rows[0])

    def record(self) -> dict[str, Any]:
        """Plain numbers, one column each."""
        s, rows, paper = self.score, self.rows, self.score.paper
        beside = {"paper_mean": paper and paper.mean, "paper_std": paper and paper.std}
        return {
            "dataset": self.dataset, "method": self.method, "metric": rows[0].metric,
            "runs": s.runs, "seeds": len({row.seed for row in rows}),
            "folds": len({row.fold for row in rows}),
            "test_mean": s.mean, "test_std": s.std, "std_over": s.over, "valid_mean": self.valid,
            **({} if self.is_own else beside),
            "epochs": sum(row.epochs for row in rows), "seconds": round(s.seconds, 3),
            "parameters": s.parameters, "options": self.options, "label": self.label,
        }  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """The same with all that is known of the paper's number as one."""
        flat = {k: v for k, v in self.record().items() if not k.startswith("paper_")}
        by_label = [score.to_json() for score in self.by_label]
        paper = {} if self.is_own else {"paper": self.score.paper and self.score.paper._asdict()}
        return {
            **flat,
            **paper,
            **({"by_label": by_label} if by_label else {}),
            **own_json(self.rows),
        }


def summarise(rows: Iterable[Row]) -> list[Summary]:
    """In order of first appearance."""
    groups: dict[tuple[str, str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        # Two files may give their sets one name: the digest of the data keeps them apart.
        groups[row.dataset, row.method, options_of(row), row.data_digest].append(row)
    lines = [part for group in groups.values() for part in by_splits(group)]
    of = [(line[0].dataset, line[0].method) for line in lines]
    folds: dict[tuple[str, str], list[set[int]]] = defaultdict(list)
    for group, line in zip(of, lines, strict=True):
        folds[group].append({row.fold for row in line})
    settings = [
        _settings(line, set.intersection(*folds[group]))
        for group, line in zip(of, lines, strict=True)
    ]
    varying = differing(zip(of, settings, strict=True))
    return [
        Summary(
            label(group[1], mine, varying[group]),
            line,
            Score.of(line, paper=None if is_own(line[0]) else published(*group)),
        )
        for group, mine, line in zip(of, settings, lines, strict=True)
    ]


def _settings(line: Sequence[Row], folds: set[int]) -> dict[str, Any]:
    """What tells a line from others: settings, data, and how these were split.

    folds: those that all lines have, which alone can be compared.
    """
    first = next((row for row in line if row.fold == min(folds, default=None)), None)
    split = {"split": first.split_digest[:8]} if first else {}
    return {**settings_of(line[0]), "data": line[0].data_digest[:8], **split}


def by_splits(rows: Iterable[Row]) -> list[list[Row]]:
    """Rows of one set, apart where one fold was split in two ways.

    A row goes where its fold is known with its split, else to the rows last added to that do not
    know its fold.
    """
    parts: list[tuple[dict[int, str], list[Row]]] = []  # the last added to comes first
    first_seen: list[list[Row]] = []
    for row in rows:
        found = next((p for p in parts if p[0].get(row.fold) == row.split_digest), None)
        found = found or next((p for p in parts if row.fold not in p[0]), None)
        if found is None:
            found = ({}, [])
            first_seen.append(found[1])
        else:
            parts.remove(found)
        parts.insert(0, found)
        found[0][row.fold] = row.split_digest
        found[1].append(row)
    return first_seen


def options_of(row: Row) -> str:
    """The configuration of a row as one comparable text."""
    return " ".join(f"{name}={value}" for name, value in sorted(settings_of(row).items()))


def summary_grid(summaries: Sequence[Summary]) -> Grid:
    """Without a title. Columns of the paper's numbers are there where it has some."""
    shown = [_texts(s) for s in summaries]
    has_paper = any(s.score.paper for s in summaries)
    notes = []
    if has_paper:
        notes.append(
            "paper: mean ± deviation over 10 seeds (TU sets: the mean of 10 folds per seed)"
        )
    if any(s.score.over_folds for s in summaries):
        notes.append("ᶠ: one seed only, the deviation is over folds")
    rows = [row for s in summaries for row in s.rows]
    if any(row.metric == "nrmse" for row in rows):
        notes.append(NRMSE)
    notes += _label_means(summaries)
    notes += filter(None, [provenance_note(rows)])
    return Grid(
        title="",
        columns=[
            Column(
                heading,
                [Square(texts[heading]) for texts in shown],
                left=heading in ("dataset", "method", "metric"),
                essential=heading in ESSENTIAL,
            )
            for heading in shown[0]
            if has_paper or heading not in ("paper", "difference")
        ],
        notes=notes,
        records=[s.record() for s in summaries],
        whole=[s.to_json() for s in summaries],
        facts=[*facts(rows), *((f"{s.label} on {s.dataset}", s.options) for s in summaries)],
        pictures=[
            Picture(
                f"curves-{dataset}",
                f"Learning curves on {dataset}",
                partial(_curves, [s for s in summaries if s.dataset == dataset]),
                _curve_note([row for row in rows if row.dataset == dataset]),
            )
            for dataset in dict.fromkeys(s.dataset for s in summaries)
        ],
    )


def _label_means(summaries: Sequence[Summary]) -> list[str]:
    """What one score is for several label columns of users' own data; of nrmse NRMSE says it."""
    counts = {
        s.dataset: len({score.column for score in s.by_label})
        for s in summaries
        if s.is_own and s.rows[0].metric != "nrmse"
    }
    return [
        f"test, valid on {dataset}: the mean over those of its {count} label columns where the "
        "score is defined"
        for dataset, count in counts.items()
        if count > 1
    ]


def by_label_grids(summaries: Sequence[Summary]) -> list[Grid]:
    """What the runs scored on each label column; none where no run says."""
    lines = [(s.dataset, s.method, s.label, s.by_label) for s in summaries if s.by_label]
    # In JSON they stand in their lines.
    return [replace(label_grid(lines), whole=[])] if lines else []


def _curve_note(rows: Sequence[Row]) -> str:
    said = (
        "Thin: each run. Bold: their mean, while at least half of the runs go on. "
        "Ring: the epoch whose weights were kept."
    )
    if any(row.model.get("members", 1) != 1 for row in rows):
        said += " Of a run with members, the mean over these, with the ring at their mean epoch."
    return said


def _curves(summaries: Sequence[Summary]) -> bytes:
    lines: dict[str, list[Row]] = defaultdict(list)
    for s in summaries:
        lines[s.label] += s.rows
    return learning_curves(lines)


def _texts(summary: Summary) -> dict[str, str]:
    """By heading."""
    found, score = summary.record(), summary.score
    paper, difference = score.paper, score.difference
    written = partial(scored, found["metric"]) if summary.is_own else pair
    return {
        "dataset": summary.dataset,
        "method": summary.label,
        "metric": with_unit(found["metric"]),
        "test": written(score.mean, score.std) + " ᶠ" * score.over_folds,
        "valid": written(summary.valid, None),
        "paper": pair(paper.mean, paper.std) if paper else NONE,
        "difference": NONE if difference is None else f"{difference:+.2f}",
        "seeds × folds": f"{found['seeds']} × {found['folds']}",
        "epochs": str(found["epochs"]),
        "time": duration(score.seconds),
        "parameters": f"{found['parameters']:,}",
    }


def settings_of(row: Row) -> dict[str, Any]:
    """All settings by one name each; those of a pooling as pool.NAME."""
    model = {k: v for k, v in row.model.items() if k not in ("method", "pool")}
    pool = {f"pool.{key}": value for key, value in row.model.get("pool", {}).items()}
    return {**model, **pool, **row.train}


def differing(lines: Iterable[tuple[Hashable, Mapping[str, Any]]]) -> dict[Any, set[str]]:
    """By group: the names of the settings in which its lines differ.

    lines: group and settings of each.
    """
    groups: dict[Hashable, list[Mapping[str, Any]]] = defaultdict(list)
    for group, settings in lines:
        groups[group].append(settings)
    return {
        group: {
            name
            for name in dict.fromkeys(name for one in found for name in one)
            if len({json.dumps(one.get(name), sort_keys=True) for one in found}) > 1
        }
        for group, found in groups.items()
    }


def label(name: str, settings: Mapping[str, Any], shown: Collection[str]) -> str:
    """The name, and in brackets those of the settings that are to be shown."""
    said = [
        f"{key.removeprefix('pool.')}={value}"
        for key, value in sorted(settings.items())
        if key in shown
    ]
    return f"{name} ({', '.join(said)})" if said else name
