"""What was trained on: how users' own data were understood, and what is in each part of a split."""

import json
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from gmpool.record import Row
from gmpool.report.grid import Column, Grid, Square
from gmpool.report.number_text import NONE, measured
from gmpool.report.recorded_data import PARTS, Data, recorded_data

MOST_CLASSES = 6
"""That are named in a square."""


def data_grids(lines: Iterable[tuple[str, Sequence[Row]]]) -> list[Grid]:
    """One for each set and way to split it, of the rows that say.

    lines: the name of a set, and rows on it.
    """
    found: dict[tuple[str, str, str], dict[str, Data]] = {}
    for dataset, rows in lines:
        for row in rows:
            if (said := recorded_data(row)) is not None:
                split = json.dumps(row.more.get("split"), sort_keys=True)
                of = found.setdefault((dataset, row.data_digest, split), {})
                of.setdefault(row.split_digest, said)
    names = [dataset for dataset, *_ in found]
    made = []
    for (dataset, _, split), of in found.items():
        title = f"Data: {dataset}"
        if names.count(dataset) > 1:
            kind = (json.loads(split) or {}).get("kind", "as it came")
            title += f", split: {kind}"
        made.append(_grid(title, list(of.values())))
    return made


def _grid(title: str, folds: Sequence[Data]) -> Grid:
    first = folds[0]
    notes = list(first.understood)
    if len(folds) > 1:
        notes.append(f"from the smallest to the largest of {len(folds)} folds")
    if first.label_count > len(first.labels):
        notes.append(f"the first {len(first.labels)} of {first.label_count} label columns")
    return Grid(
        title=title,
        columns=[
            Column("part", [Square(part) for part in PARTS], left=True),
            Column("graphs", [Square(_range([d.parts[p].graphs for d in folds])) for p in PARTS]),
            *(
                Column(
                    name,
                    [Square(_words(first, [d.parts[p].labels[at] for d in folds])) for p in PARTS],
                    {"binary": "yes, no", "regression": "mean ± deviation, range"}.get(
                        first.task, "graphs of each class"
                    ),
                    left=True,
                )
                for at, name in enumerate(first.labels or ["label"])
            ),
        ],
        notes=notes,
        whole=[],
        essential=False,
    )


def data_json(data: Data) -> dict[str, Any]:
    """For a program to read, by names."""
    names = {
        "binary": ["yes", "no", "gaps"],
        "multiclass": [*data.classes, "gaps"],
        "regression": ["count", "mean", "std", "min", "max"],
    }[data.task]
    return {
        "understood": list(data.understood),
        "parts": {
            part: {
                "graphs": of.graphs,
                "labels": {
                    name: dict(zip(names, column, strict=False))
                    for name, column in zip(data.labels or ["label"], of.labels, strict=True)
                },
            }
            for part, of in data.parts.items()
        },
    }


def _words(data: Data, folds: Sequence[Sequence[Any]]) -> str:
    """Of one label column in one part."""
    if data.task == "regression":
        return _numbers([fold for fold in folds if len(fold) > 1])
    *counts, gaps = zip(*folds, strict=True)
    if data.task == "binary":
        yes, no = counts
        shares = [100 * y / (y + n) for y, n in zip(yes, no, strict=True) if y + n]
        said = f"{_range(yes)} yes, {_range(no)} no"
        said += f" ({_range([round(share) for share in shares])} % yes)" if shares else ""
    else:
        named = zip(data.classes[:MOST_CLASSES], counts, strict=False)
        said = ", ".join(f"{_range(each)} {name}" for name, each in named)
        more = len(data.classes) - MOST_CLASSES
        said += f", {more} more classes" if more > 0 else ""
    return said + (f", {_range(gaps)} gaps" if any(gaps) else "")


def _numbers(folds: Sequence[Sequence[float]]) -> str:
    if not folds:
        return NONE
    mean, deviation = (statistics.fmean(fold[at] for fold in folds) for at in (1, 2))
    low, high = min(fold[3] for fold in folds), max(fold[4] for fold in folds)
    said = f"{measured(mean, deviation)} ({measured(low, None)} to {measured(high, None)})"
    counts = [int(fold[0]) for fold in folds]
    return f"{_range(counts)} numbers: {said}"


def _range(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} – {high:,}"
