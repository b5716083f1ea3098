"""Which recorded rows belong to which cell of a plan."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from gmpool.config import ModelConfig, TrainConfig
from gmpool.data import CATALOGUE
from gmpool.engine.cell import Cell
from gmpool.record import Row
from gmpool.report.summary import by_splits


class Recorded(NamedTuple):
    """The rows of a cell, one per seed and fold."""

    rows: list[Row]
    left_out: int
    """Rows on other data, or other splits, of the same name: they are never mixed."""


def rows_of_cells(cells: Sequence[Cell], rows: Iterable[Row]) -> list[Recorded]:
    """What is recorded for each cell, in the cells' order."""
    alike: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row.task == "classify":
            alike[_identity(row.dataset, row.config)].append(row)
    found = []
    for cell in cells:
        config = {"model": asdict(cell.model), "train": asdict(cell.train)}
        here = alike.get(_identity(cell.dataset, config), [])
        asked = [r for r in here if r.seed in cell.seeds and r.fold <= cell.folds]
        found.append(_one_version(cell, asked))
    return found


def _identity(dataset: str, config: Mapping[str, Any]) -> str:
    """Equal for equal settings. A field that a row is too old to have counts as its default."""
    try:
        model, train = ModelConfig(**config["model"]), TrainConfig(**config["train"])
    except TypeError:  # a field of another version of this program: no cell can ask for it
        return ""
    return json.dumps([dataset, asdict(model), asdict(train)], sort_keys=True)


def _one_version(cell: Cell, rows: list[Row]) -> Recorded:
    """The rows on the cell's data and splits; where these are not known, on those that have the
    most runs. Of a run done twice the first counts."""
    by_data: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_data[row.data_digest].append(row)
    versions = [_runs(part) for group in by_data.values() for part in by_splits(group)]
    chosen = max((v for v in versions if _fits(cell, v)), key=len, default=[])
    return Recorded(chosen, sum(map(len, versions)) - len(chosen))


def _fits(cell: Cell, rows: list[Row]) -> bool:
    if cell.own is None:
        return CATALOGUE[cell.dataset].content in ("", rows[0].data_digest)
    return cell.own.graphs.digest == rows[0].data_digest and all(
        cell.own.folds[row.fold - 1].digest == row.split_digest for row in rows
    )


def _runs(rows: list[Row]) -> list[Row]:
    runs: dict[tuple[int, int], Row] = {}
    for row in rows:
        runs.setdefault((row.seed, row.fold), row)
    return [runs[key] for key in sorted(runs)]
