"""Of how many reactions the truth is among the first k: what ranks are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

K = (1, 3, 5, 10, 20, 50)
PUBLISHED, MERGED = "published", "merged"
"""As the published code counts, an outcome of several templates as several; and each once."""
DECODINGS = (PUBLISHED, MERGED)


def top_k(ranks: np.ndarray) -> list[float]:
    """In percent, for each of K. ranks: from 1; 0 is not found. NaN of none."""
    if not len(ranks):
        return [float("nan")] * len(K)
    return [100 * float(((ranks > 0) & (ranks <= k)).mean()) for k in K]


def rank_scores(
    ranks: Mapping[str, np.ndarray], groups: np.ndarray, names: Sequence[str]
) -> dict[str, Any]:
    """What a row says of its test part. groups: the class of each reaction, -1 for one that was not
    seen. names: of the classes."""
    found: dict[str, Any] = {
        "top": {name: _short(top_k(ranks[name])) for name in DECODINGS},
        "mrr": {name: _mean_inverse(ranks[name]) for name in DECODINGS},
        "ranks": {name: [int(rank) for rank in ranks[name]] for name in DECODINGS},
    }
    if len(names) > 1:
        found["by_class"] = {
            name: {
                "reactions": int((groups == at).sum()),
                **{d: _short(top_k(ranks[d][groups == at])) for d in DECODINGS},
            }
            for at, name in enumerate(names)
            if (groups == at).any()
        }
    return found


def _mean_inverse(ranks: np.ndarray) -> float | None:
    if not len(ranks):
        return None
    return round(float(np.where(ranks > 0, 1 / np.maximum(ranks, 1), 0.0).mean()), 6)


def _short(values: Sequence[float]) -> list[float | None]:
    return [round(value, 4) if value == value else None for value in values]
