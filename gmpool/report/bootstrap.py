"""How sure a score is that rests on so many graphs: other draws of them would have given others."""

from collections import defaultdict
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from gmpool.report.statistics import LEVEL

Ids = NDArray[np.int64]
DRAWS = 1000
FEWEST = 10
"""Of fewer graphs nothing is said."""


def bootstrap_intervals(
    scores: Callable[[Ids], Mapping[str, float | None]],
    graphs: int,
    *,
    draws: int = DRAWS,
    level: float = LEVEL,
    seed: int = 0,
) -> dict[str, tuple[float, float]]:
    """By the name of each score: where it lies with confidence 1 - level, from draws of as many of
    the graphs, with replacement (Efron's percentiles).

    scores: of the graphs with these numbers, of which some come several times [graphs]; None or NaN
    where it is not defined. A score that is not defined in half of the draws is left out. The same
    seed gives the same intervals.
    """
    if graphs < FEWEST:
        return {}
    random = np.random.default_rng(seed)
    found: dict[str, list[float]] = defaultdict(list)
    for _ in range(draws):
        for name, value in scores(random.integers(graphs, size=graphs)).items():
            if value is not None and np.isfinite(value):
                found[name].append(float(value))
    ends = [50 * level, 100 - 50 * level]
    made = {}
    for name, values in found.items():
        if 2 * len(values) >= draws:
            low, high = np.percentile(values, ends).tolist()
            made[name] = (low, high)
    return made
