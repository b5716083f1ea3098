"""Rows of generated molecules as if trained."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from report_rows import row

from gmpool.record import Row
from gmpool.report.comparison import Cell

LINES = (
    ("mean", {}, 20.0), ("mean-wide", {}, 26.0), ("sum", {}, 35.0), ("max", {}, 12.0),
    ("set2set", {}, 30.0), ("mincut", {}, 28.0), ("gmpool", {"softmax": "nodes"}, 55.0),
    ("gmpool", {"softmax": "seeds"}, 42.0), ("gmt", {}, 48.0),
)  # fmt: skip
"""Method, options and validity at the end in percent."""
SMILES = ("CCO", "c1ccccc1", "C1CC1F", "CC(=O)N", "O=C1CN1", "C#CC", "OCC1CO1", "CN")
RANGES = {"qed": (0.0, 1.0, 0.45), "logp": (-4.0, 5.0, 0.3), "sa": (1.0, 8.0, 4.4)}
"""Low, high and middle of the histograms."""


def generation_row(
    method: str, curves: Mapping[str, Sequence[float | None]], *, seed: int = 42, every: int = 500,
    dataset: str = "QM9", pool: dict[str, Any] | None = None, more: Mapping[str, Any] | None = None,
    **values: Any,
) -> Row:  # fmt: skip
    """curves: those of the scores that matter; the others are 0. more: beside the curves."""
    length = len(next(iter(curves.values())))
    names = ("loose", "strict", "unique", "novel", "vun", "distinct", "qed", "logp", "sa")
    generated = {
        "iteration": [every * (n + 1) for n in range(length)],
        **{name: list(curves.get(name, [0.0] * length)) for name in names},
        "draws": 13319, "rings": [5, 3, 1, 0, 0, 0, 0],
        "smiles": [list(SMILES)] * length, **(more or {}),
    }  # fmt: skip
    return bare_row(method, seed, dataset, pool, generated=generated, **values)


def bare_row(
    method: str, seed: int = 42, dataset: str = "QM9", pool: dict[str, Any] | None = None,
    **values: Any,
) -> Row:  # fmt: skip
    """Without scores."""
    model = {"method": method, "latent_dim": 8, "pool": pool or {}}
    return row(
        key=f"{dataset} {method} {sorted((pool or {}).items())} {seed}", task="generate",
        dataset=dataset, method=method, seed=seed, metric="vun", test=None, valid=None,
        config={"model": model, "train": {"lr": 1e-4, "epochs": 20}},
        **{"source": "s", **values},
    )  # fmt: skip


def cell(label: str, rows: Sequence[Row], *, asked: int | None = None, **values: Any) -> Cell:
    first = rows[0]
    return Cell(label, first.method, first.dataset, asked or len(rows), rows, **values)


def invented_cells(seeds: int = 20, iterations: int = 20, lines: int = len(LINES)) -> list[Cell]:
    """Nine lines whose validity rises and whose molecules become few, each seed in its own way."""
    noise = random.Random(0)
    cells = []
    for method, pool, level in LINES[:lines]:
        rows = [
            _invented(noise, method, pool, level, seed, iterations)
            for seed in range(42, 42 + seeds)
        ]
        said = ", ".join(f"{key}={value}" for key, value in pool.items())
        cells.append(cell(f"{method} ({said})" if said else method, rows))
    return cells


def _invented(
    noise: random.Random, method: str, pool: dict[str, Any], level: float, seed: int, length: int
) -> Row:
    top = max(2.0, level + noise.gauss(0, 12))
    falls = noise.uniform(0.02, 0.4)
    curves: dict[str, list[float | None]] = {}
    for step in range(1, length + 1):
        strict = min(99.0, max(0.0, top * step / (step + 5) + noise.gauss(0, 4)))
        unique = 100 * 2.7 ** (-falls * step) + 0.5
        novel = 70.0 + noise.gauss(0, 3)
        distinct = round(13319 * strict * unique / 10000)
        valid = distinct > 0
        scores = {
            "loose": min(100.0, strict + 25 + noise.gauss(0, 5)), "strict": strict,
            "unique": unique if valid else None, "novel": novel if valid else None,
            "vun": strict * unique * novel / 10000 if valid else 0.0, "distinct": distinct,
            "qed": 0.46 + noise.gauss(0, 0.02) if valid else None,
            "logp": 0.3 + noise.gauss(0, 0.2) if valid else None,
            "sa": 4.4 + noise.gauss(0, 0.2) if valid else None,
        }  # fmt: skip
        for name, value in scores.items():
            curves.setdefault(name, []).append(value)
    shift = noise.gauss(0, 0.08)
    more = {"histograms": histograms(noise, shift, 1000), "rings": rings(noise, 2000)}
    training = {"histograms": histograms(random.Random(1), 0.0, 20000),
                "rings": rings(random.Random(1), 20000)}  # fmt: skip
    return generation_row(method, curves, seed=seed, pool=pool, more=more, training=training)


def histograms(noise: random.Random, shift: float, count: int) -> dict[str, Any]:
    """shift: of the middle, as a share of the range."""
    made = {}
    for name, (low, high, middle) in RANGES.items():
        counts = [0] * 20
        for _ in range(count):
            place = (middle - low) / (high - low) + shift + noise.gauss(0, 0.12)
            counts[min(19, max(0, int(20 * place)))] += 1
        made[name] = {"low": low, "high": high, "counts": counts}
    return made


def rings(noise: random.Random, count: int) -> list[int]:
    counts = [0] * 7
    for _ in range(count):
        counts[min(6, max(0, round(noise.gauss(1.6, 1.1))))] += 1
    return counts
