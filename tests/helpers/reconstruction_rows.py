"""Rows of reconstructions as if trained."""

from __future__ import annotations

import random
from typing import Any

from report_rows import row

from gmpool.record import Row

ZINC_METHODS = {"gmt": 99.0, "mincut": 90.0, "structpool": 84.0, "diffpool": 80.0, "topk": 60.0,
                "random": 72.0}  # fmt: skip
RATIOS = (0.05, 0.1, 0.15, 0.25)


def reconstruction_row(
    method: str, scores: dict[str, float | None], *, dataset: str = "ZINC", seed: int = 42,
    ratio: float = 0.25, objective: str = "x", pool: dict[str, Any] | None = None, **model: Any,
) -> Row:  # fmt: skip
    settings = {"method": method, "hidden_dim": 32, "ratio": ratio, "objective": objective,
                "pool": pool or {}, **model}  # fmt: skip
    return row(
        key=f"{dataset} {sorted(settings.items())} {seed}", task="reconstruct", dataset=dataset,
        method=method, seed=seed, scores=scores, data_digest="d" * 64, split_digest="s" * 64,
        config={"model": settings, "train": {"lr": 5e-3, "epochs": 500}},
    )  # fmt: skip


def zinc_rows(seeds: int = 5) -> list[Row]:
    noise = random.Random(0)
    rows = []
    for method, level in ZINC_METHODS.items():
        for ratio in RATIOS:
            for seed in range(42, 42 + seeds):
                accuracy = min(100.0, level - 60 * (0.25 - ratio) + noise.gauss(0, 0.6))
                valid = min(100.0, accuracy + noise.gauss(0, 0.5))
                types = max(0.0, 100 - 8 * (100 - accuracy) + noise.gauss(0, 1))
                scores = {"accuracy": accuracy, "validity": valid, "exact_types": min(types, 100),
                          "exact_smiles": min(100.0, 1.02 * types)}  # fmt: skip
                rows.append(reconstruction_row(method, scores, seed=seed, ratio=ratio))
    return rows


def synthetic_rows() -> list[Row]:
    lines = [("gmt", {"layer_norm": True}, 0.00003), ("mincut", {}, 0.0003),
             ("mincut", {"normalise": False}, 0.0002), ("diffpool", {}, 0.05),
             ("topk", {}, 0.2)]  # fmt: skip
    return [
        reconstruction_row(
            method, {"error_x": x if objective == "x" else 1000 * x, "error_a": 40000 * x},
            dataset=dataset, objective=objective, pool=pool,
        )
        for dataset in ("ring", "grid")
        for objective in ("x", "a")
        for method, pool, x in lines
    ]  # fmt: skip
