"""Rows of ranked reactants as if trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from report_rows import row

from gmpool.record import Row
from gmpool.report.comparison import Cell
from gmpool.tasks.retrosynthesis.top_k import MERGED, PUBLISHED, rank_scores

UNKNOWN, GIVEN = "USPTO-50k", "USPTO-50k-given"
ABOVE = {
    "mean": 0.0, "mincut": -0.2, "gmpool": 0.5, "max": -0.8, "gmt": 0.2, "frequency": -30.0,
}  # fmt: skip
"""How much more top-1 than the mean has, in points."""
_SHARES = np.array([51.0, 67.5, 75.0, 83.5, 89.0, 92.4])
_GAIN = np.array([12.0, 10.8, 8.4, 6.0, 3.6, 1.0])
"""Of the class."""


def ranking_row(
    method: str, published: Sequence[int], *, merged: Sequence[int] | None = None, seed: int = 42,
    dataset: str = UNKNOWN, pool: Mapping[str, Any] | None = None,
    groups: Sequence[int] | None = None, classes: Sequence[str] = ("0",), valid: float = 50.0,
    more: Mapping[str, Any] | None = None, **values: Any,
) -> Row:  # fmt: skip
    """published, merged: ranks of the test reactions. groups: their classes, by their places among
    the names. more: over what is recorded of the ranks."""
    ranks = {PUBLISHED: np.array(published), MERGED: np.array(merged or published)}
    of = np.zeros(len(published), dtype=int) if groups is None else np.array(groups)
    found = {**rank_scores(ranks, of, classes), **(more or {})}
    model = {"method": method, "message_dim": 128, "pool": dict(pool or {})}
    return row(
        key=f"{dataset} {method} {sorted((pool or {}).items())} {seed}", task="retrosynthesis",
        dataset=dataset, method=method, seed=seed, metric="top-1", valid=valid,
        test=found["top"][PUBLISHED][0],
        config={"model": model, "train": {"lr": 1e-3, "epochs": 10, "select_by": "metric"}},
        **{"source": "s", "data_digest": f"digest of {dataset}", "split_digest": "split",
           "retrosynthesis": found, **values},
    )  # fmt: skip


def cell(label: str, rows: Sequence[Row], *, asked: int | None = None, **values: Any) -> Cell:
    first = rows[0]
    return Cell(label, first.method, first.dataset, asked or len(rows), rows, **values)


def invented_cells(
    seeds: int = 3, reactions: int = 400, *, methods: Sequence[str] = tuple(ABOVE),
    datasets: Sequence[str] = (UNKNOWN, GIVEN),
) -> list[Cell]:  # fmt: skip
    """Lines on sets with ten classes. The same reactions are hard for all of them."""
    cells = []
    for method in methods:
        for dataset in datasets:
            rows = [_invented(method, dataset, seed, reactions) for seed in range(42, 42 + seeds)]
            label = "GMPool_1" if method == "gmpool" else method
            cells.append(cell(label, rows))
    return cells


def _invented(method: str, dataset: str, seed: int, reactions: int) -> Row:
    # Of letters: the same in every session.
    known = np.random.default_rng(sum(map(ord, dataset)))
    groups, hard = known.integers(0, 10, reactions), known.random(reactions)
    own = np.random.default_rng([sum(map(ord, method)), 0 if method == "frequency" else seed])
    fades = np.array([1, 0.9, 0.7, 0.5, 0.3, 0.1])
    shares = _SHARES + ABOVE[method] * fades + (_GAIN if dataset == GIVEN else 0)
    noisy = (hard + own.normal(0, 0.04, reactions)).argsort().argsort() / reactions
    place = np.searchsorted(shares / 100 + own.normal(0, 0.003), noisy)  # 6: not found
    low, high = np.array([1, 2, 4, 6, 11, 21, 0]), np.array([1, 3, 5, 10, 20, 50, 0])
    ranks = own.integers(low[place], high[place] + 1)
    merged = np.where(ranks > 0, np.maximum(1, ranks - ranks // 4), 0)
    return ranking_row(
        method, ranks.tolist(), merged=merged.tolist(), seed=seed, dataset=dataset,
        groups=groups.tolist(), classes=[str(n) for n in range(1, 11)],
    )  # fmt: skip
