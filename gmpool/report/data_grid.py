"""What was trained on: how users' own data were understood, and what is in each part of a split."""

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gmpool.record import Row
from gmpool.report.grid import Column, Grid, Square
from gmpool.report.number_text import NONE, measured
from gmpool.report.recorded_data import PARTS, Data, Part, recorded_data

Key = tuple[str, str, str, str]
"""Set, data, split, and what the labels are."""


def data_grids(lines: Iterable[tuple[str, Sequence[Row]]]) -> list[Grid]:
    """One for each set and way to split it, of the rows that say.

    lines: the name of a set, and rows on it.
    """
    found: dict[Key, dict[str, Data]] = {}
    divided: set[Key] = set()
    for dataset, rows in lines:
        for row in rows:
            if (said := recorded_data(row)) is not None:
                split, labels = (
                    json.dumps(each, sort_keys=True)
                    for each in (row.more.get("split"), [said.task, said.labels, said.classes])
                )
                key = dataset, row.data_digest, split, labels
                found.setdefault(key, {}).setdefault(row.split_digest, said)
                if row.model.get("members_by") == "folds" and row.model.get("members", 1) != 1:
                    divided.add(key)
    names = [dataset for dataset, *_ in found]
    made = []
    for key, of in found.items():
        title = f"Data: {key[0]}"
        if names.count(key[0]) > 1:
            split = json.loads(key[2])
            kind = split.get("kind") if isinstance(split, Mapping) else None
            title += f", split: {kind or 'as it came'}"
        made.append(_grid(title, list(of.values()), divided=key in divided))
    return made


def _grid(title: str, folds: Sequence[Data], *, divided: bool) -> Grid:
    """divided: whether members divide what is not for the test in their own ways."""
    first = folds[0]
    notes = list(first.understood)
    if first.task == "regression":
        notes.append("of numbers: mean ± deviation (least to most)")
    if len(folds) > 1:
        said = "means and deviations are averaged over them"
        said = said if first.task == "regression" else "shares likewise"
        notes.append(f"counts from the smallest to the largest of {len(folds)} folds; {said}")
    if divided:
        notes.append("train and valid are divided anew by the members, each validated on its own")
    if first.label_count > len(first.labels):
        notes.append(f"the first {len(first.labels)} of {first.label_count} label columns")
    parts = [_lines([data.parts[part] for data in folds], first) for part in PARTS]
    # Gaps, and more classes than are named, are shown where there are some.
    shown = [at for at in range(len(parts[0])) if any(part[at][1] for part in parts)]
    return Grid(
        title=title,
        columns=[
            Column("", [Square(parts[0][at][0]) for at in shown], left=True),
            *(
                Column(name, [Square(part[at][1] or NONE) for at in shown])
                for name, part in zip(PARTS, parts, strict=True)
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


def _lines(parts: Sequence[Part], data: Data) -> list[tuple[str, str]]:
    """The name of each line of the grid, and what is in one part of each fold: "" where none has
    any."""
    graphs = [part.graphs for part in parts]
    labels = data.labels or ["label"]
    if data.task == "multiclass":
        *counts, gaps = zip(*(part.labels[0] for part in parts), strict=True)
        other = [n - sum(part.labels[0]) for n, part in zip(graphs, parts, strict=True)]
        label = ", ".join(labels)
        return [
            ("graphs", _range(graphs)),
            *(
                (f"{label} = {name}", _of(of, graphs))
                for name, of in zip(data.classes, counts, strict=True)
            ),
            ("other classes", _range(other) if any(other) else ""),
            ("gaps", _range(gaps) if any(gaps) else ""),
        ]
    words = _answers if data.task == "binary" else _numbers
    columns = zip(*(part.labels for part in parts), strict=True)
    named = zip(labels, columns, strict=True)
    return [("graphs", _range(graphs)), *((name, words(of, graphs)) for name, of in named)]


def _answers(folds: Sequence[Sequence[int]], graphs: Sequence[int]) -> str:
    yes, no, gaps = zip(*folds, strict=True)
    known = [y + n for y, n in zip(yes, no, strict=True)]
    said = f"{_range(yes)} yes, {_range(no)} no"
    said += f" ({_share(yes, known)} yes)" if any(known) else ""
    return said + (f", {_range(gaps)} gaps" if any(gaps) else "")


def _numbers(folds: Sequence[Sequence[float]], graphs: Sequence[int]) -> str:
    there = [fold for fold in folds if len(fold) > 1]
    gaps = [n - int(fold[0]) for n, fold in zip(graphs, folds, strict=True)]
    said = f"{_range(gaps)} gaps" if any(gaps) else ""
    if not there:
        return said
    mean, deviation = (statistics.fmean(fold[at] for fold in there) for at in (1, 2))
    low, high = min(fold[3] for fold in there), max(fold[4] for fold in there)
    numbers = f"{measured(mean, deviation)} ({measured(low, None)} to {measured(high, None)})"
    return f"{numbers}, {said}" if said else numbers


def _of(counts: Sequence[int], graphs: Sequence[int]) -> str:
    share = f" ({_share(counts, graphs)})" if any(graphs) else ""
    return _range(counts) + share


def _share(counts: Sequence[int], of: Sequence[int]) -> str:
    """A few of very many are more than none."""
    shares = [100 * count / all_ for count, all_ in zip(counts, of, strict=True) if all_]
    low, high = (f"{s:.0f}" if s >= 10 else f"{s:.2g}" for s in (min(shares), max(shares)))
    return f"{low} %" if low == high else f"{low} – {high} %"


def _range(counts: Sequence[float]) -> str:
    low, high = int(min(counts)), int(max(counts))
    return f"{low:,}" if low == high else f"{low:,} – {high:,}"
