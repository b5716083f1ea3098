"""Plans and rows for them as if trained, without any method or data."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any

from report_rows import row

from gmpool.config import ModelConfig, TrainConfig
from gmpool.data import CATALOGUE
from gmpool.engine.cell import Cell, Line
from gmpool.engine.plan import Plan

PAPER = json.loads(files("gmpool.report").joinpath("paper.json").read_text("utf-8"))


class AnyPlan(Plan):
    """A plan whose methods need not exist."""

    def _cell(self, line: Line, dataset: str) -> Cell:
        seeds = tuple(range(self.first_seed, self.first_seed + self.seeds))
        model = ModelConfig(method=line.method, pool=line.options)
        return Cell(line, dataset, model, TrainConfig(), seeds, self.folds or 10)


def plan(
    lines: Sequence[str | Line] = ("gmt", "mean"),
    datasets: Sequence[str] = ("MUTAG", "DD"),
    *,
    seeds: int = 2,
    folds: int = 2,
    paper: str | None = "test",
    part: str = "test",
) -> Plan:
    return AnyPlan(
        name="small",
        title="A small plan",
        datasets=tuple(datasets),
        lines=tuple(Line(x, x, {}) if isinstance(x, str) else x for x in lines),
        seeds=seeds,
        first_seed=42,
        folds=folds,
        dataset_options={},
        paper=paper,
        part=part,
    )


def recorded(cell: Cell, *scores: Sequence[float | None], **values: Any) -> list[dict[str, Any]]:
    """The rows of a cell: scores[seed][fold]."""
    return [
        row(
            key=f"{cell.line.label} {cell.dataset} {seed} {fold}",
            task="classify",
            dataset=cell.dataset,
            method=cell.model.method,
            seed=seed,
            fold=fold,
            config={"model": asdict(cell.model), "train": asdict(cell.train)},
            data_digest=CATALOGUE[cell.dataset].content,
            **{"test": test, "valid": test, **values},
        )
        for seed, tests in zip(cell.seeds, scores, strict=False)
        for fold, test in enumerate(tests, start=1)
    ]


@cache
def like_the_paper(seeds: int = 10) -> tuple[Plan, list[dict[str, Any]]]:
    """Table 1 of 14 methods on 10 sets, the paper's means with noise of the paper's deviation."""
    noise = random.Random(0)
    table = plan(tuple(PAPER["test"]), tuple(PAPER["datasets"]), seeds=seeds, folds=1)
    rows = []
    for cell in table.cells():
        mean, std, _ = PAPER["test"][cell.line.method].get(cell.dataset, (None, None, None))
        if mean is None:
            continue
        tests = [[noise.gauss(mean, std)] for _ in range(seeds)]
        count = 100_000 + 1_000 * len(rows)
        metric = PAPER["datasets"][cell.dataset]
        rows += recorded(cell, *tests, metric=metric, parameters=count)
    return table, rows
