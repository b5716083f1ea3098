"""Rows of the run store to one line per set and method."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from gmpool.report.paper import Published, published

Row = dict[str, Any]


@dataclass(frozen=True)
class Summary:
    """One method on one set: folds are averaged first, then seeds.

    With several seeds the deviation is over seeds, as the paper reports it; with one seed it is
    over folds, and `std_over` says which.
    """

    dataset: str
    method: str
    metric: str
    runs: int
    seeds: int
    folds: int
    test_mean: float | None
    test_std: float | None
    valid_mean: float | None
    std_over: str
    epochs: int
    seconds: float
    parameters: int
    paper: Published | None
    options: str

    def to_json(self) -> dict[str, Any]:
        values = asdict(self)
        values["paper"] = self.paper._asdict() if self.paper else None
        return values


def summarise(rows: Iterable[Row]) -> list[Summary]:
    """One summary per (set, method, options) and the data they were made on, in order of first
    appearance."""
    groups: dict[tuple[str, str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        # Two files may give their sets one name: the digest of the data keeps them apart.
        key = (row["dataset"], row["method"], options_of(row), row["data_digest"])
        groups[key].append(row)
    return [_summary(*key[:3], part) for key, group in groups.items() for part in by_splits(group)]


def by_splits(rows: Iterable[Row]) -> list[list[Row]]:
    """Rows of one set, apart where one fold was split in two ways.

    A row goes where its fold is known with its split, else to the rows last added to that do not
    know its fold.
    """
    parts: list[tuple[dict[int, str], list[Row]]] = []  # the last added to comes first
    first_seen: list[list[Row]] = []
    for row in rows:
        fold, split = row["fold"], row["split_digest"]
        found = next((p for p in parts if p[0].get(fold) == split), None)
        found = found or next((p for p in parts if fold not in p[0]), None)
        if found is None:
            found = ({}, [])
            first_seen.append(found[1])
        else:
            parts.remove(found)
        parts.insert(0, found)
        found[0][fold] = split
        found[1].append(row)
    return first_seen


def options_of(row: Row) -> str:
    """The configuration of a row as one comparable text."""
    config = row["config"]
    model = {k: v for k, v in config["model"].items() if k not in ("method", "pool")}
    pool = {f"pool.{k}": v for k, v in config["model"]["pool"].items()}
    settings = {**config["train"], **model, **pool}
    return " ".join(f"{k}={v}" for k, v in sorted(settings.items()))


def _summary(dataset: str, method: str, options: str, rows: list[Row]) -> Summary:
    by_seed: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        if row["test"] is not None:
            by_seed[row["seed"]].append(row["test"])
    means = [statistics.fmean(scores) for scores in by_seed.values()]
    over = "seeds" if len(means) > 1 else "folds"
    spread = means if over == "seeds" else next(iter(by_seed.values()), [])
    valid = [row["valid"] for row in rows if row["valid"] is not None]
    return Summary(
        dataset=dataset,
        method=method,
        metric=rows[0]["metric"],
        runs=len(rows),
        seeds=len({row["seed"] for row in rows}),
        folds=len({row["fold"] for row in rows}),
        test_mean=statistics.fmean(means) if means else None,
        test_std=statistics.stdev(spread) if len(spread) > 1 else None,
        valid_mean=statistics.fmean(valid) if valid else None,
        std_over=over,
        epochs=sum(row["epochs"] for row in rows),
        seconds=round(sum(row["seconds"] for row in rows), 3),
        parameters=rows[0]["parameters"],
        paper=published(dataset, method),
        options=options,
    )
