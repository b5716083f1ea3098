"""What a property-directed generator is paid for its molecules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from gmpool.errors import unknown
from gmpool.tasks.generate.scores import DrawScorer

LOGP = (-2.12, 6.04)
"""Worth 0 and 1, as SA: what lies between is worth its share of the way."""
SA = (5.0, 1.5)


def rewards(scorer: DrawScorer, rows: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """float64 [M] in 0 … 1: for rows uint8 [M, width], the product of the rewards of these names.

    A molecule that is not strictly valid gets 0.
    """
    for name in names:
        if name not in REWARDS:
            raise unknown("reward", name, REWARDS)
    smiles = list(scorer.smiles(rows))
    counts = Counter(smiles)
    paid = np.zeros(len(smiles))
    for i, text in enumerate(smiles):
        if text is not None:
            paid[i] = np.prod([REWARDS[name](scorer, text, counts[text]) for name in names])
    return paid


def _along(value: float, ends: tuple[float, float]) -> float:
    return min(max((value - ends[0]) / (ends[1] - ends[0]), 0.0), 1.0)


REWARDS: dict[str, Callable[[DrawScorer, str, int], float]] = {
    "logp": lambda scorer, smiles, _: _along(scorer.measured("logp", smiles), LOGP),
    "sa": lambda scorer, smiles, _: _along(scorer.measured("sa", smiles), SA),
    "qed": lambda scorer, smiles, _: scorer.measured("qed", smiles),
    "unique": lambda _, __, count: min(0.75 + 1 / count, 1.0),
    "validity": lambda *_: 1.0,
}
"""By name, of a valid molecule that was drawn so many times in its batch."""
