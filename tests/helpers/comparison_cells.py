"""Cells of a comparison, with rows as if trained."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from report_rows import row

from gmpool.report.comparison import Cell, Comparison, compare

PAPER = json.loads(files("gmpool.report").joinpath("paper.json").read_text("utf-8"))


def empty(
    lines: Sequence[str] = ("gmt", "mean"),
    datasets: Sequence[str] = ("MUTAG", "DD"),
    asked: int = 4,
) -> list[Cell]:
    """Line by line, of each set one."""
    return [Cell(line, line, dataset, asked, []) for line in lines for dataset in datasets]


def filled(cell: Cell, *scores: Sequence[float | None], **values: Any) -> Cell:
    """The cell with rows: scores[seed][fold]."""
    rows = [
        row(
            key=f"{cell.label} {cell.dataset} {seed} {fold}",
            dataset=cell.dataset,
            method=cell.method,
            seed=seed,
            fold=fold,
            **{"test": test, "valid": test, **values},
        )
        for seed, tests in enumerate(scores, start=42)
        for fold, test in enumerate(tests, start=1)
    ]
    return replace(cell, rows=rows)


def compared(
    cells: Sequence[Cell], *known: Cell, paper: str | None = "test", part: str = "test"
) -> Comparison:
    """known: those of the cells that have rows."""
    rows = {(cell.label, cell.dataset): cell for cell in known}
    there = [rows.get((cell.label, cell.dataset), cell) for cell in cells]
    return compare(there, name="small", title="A small plan", paper=paper, part=part)


@cache
def like_the_paper(seeds: int = 10) -> Comparison:
    """Table 1 of 14 methods on 10 sets, the paper's means with noise of the paper's deviation."""
    noise = random.Random(0)
    cells = empty(tuple(PAPER["test"]), tuple(PAPER["datasets"]), asked=seeds)
    known: list[Cell] = []
    for cell in cells:
        mean, std, _ = PAPER["test"][cell.method].get(cell.dataset, (None, None, None))
        if mean is None:
            continue
        tests = [[noise.gauss(mean, std)] for _ in range(seeds)]
        count = 100_000 + 1_000 * seeds * len(known)
        metric = PAPER["datasets"][cell.dataset]
        known.append(filled(cell, *tests, metric=metric, parameters=count))
    return compared(cells, *known)
