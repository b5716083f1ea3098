"""Intervals and sets that hold the truth as often as they say, whatever the model is worth.

Labels that were held out are scored by how badly their prediction fits them; a new label is in the
set where so many held-out ones fit worse (Vovk; Lei et al., 2018). A graph that was held out from
one member alone is compared with what that member says of the new one (Barber et al., 2021: CV+).
The promise is on average over data like the held-out ones.
"""

from __future__ import annotations

from math import ceil
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from gmpool.errors import UserError, WrongType

Array = NDArray[np.float64]


def intervals(
    value: Array, width: Array, scores: Array, by: NDArray[np.int64], coverage: float
) -> tuple[Array, Array]:
    """(lower, upper) ends for G graphs of one label, [G] each.

    value, width [K, G]: what each of K predictors says, and the unit of its errors. scores [n]:
    errors of held-out labels in such units, NaN where there was no label; by [n]: whose they are.
    """
    there = ~np.isnan(scores)
    scores, by = scores[there], by[there]
    fit = _as_many(len(scores), coverage)
    if len(value) == 1:
        half = np.sort(scores)[fit - 1] * width[0]
        return value[0] - half, value[0] + half
    below = len(scores) - fit
    reach = scores * width[by].T  # [G, n]
    low = np.partition(value[by].T - reach, below, axis=1)[:, below]
    high = np.partition(-value[by].T - reach, below, axis=1)[:, below]
    return low, -high


def in_sets(
    misfit: Array, scores: Array, by: NDArray[np.int64], coverage: float
) -> NDArray[np.bool_]:
    """Whether each of C classes is in the set of each of G graphs. misfit [K, G, C], scores and by
    as in `intervals`. [G, C]"""
    there = ~np.isnan(scores)
    scores, by = scores[there], by[there]
    worse = np.zeros(misfit.shape[1:])
    for k, mine in enumerate(misfit):
        ranked = np.sort(scores[by == k])
        worse += len(ranked) - np.searchsorted(ranked, mine, side="left")
    return np.asarray((worse + 1) > (1 - coverage) * (len(scores) + 1))


def require_enough(coverage: float, counts: NDArray[np.int64], names: list[str]) -> None:
    """Raises for a coverage that so many held-out labels of each name cannot promise."""
    if not isinstance(coverage, Real):
        raise WrongType(f"coverage is a number between 0 and 1, got {coverage!r}")
    if not 0 < coverage < 1:
        raise UserError(f"coverage must lie between 0 and 1, got {coverage:g}")
    for name, count in zip(names, counts.tolist(), strict=True):
        if _as_many(count, coverage) > count:
            most = count / (count + 1)
            raise UserError(
                f"{name}: {count} held-out labels promise a coverage of at most {most:.3g}, got "
                f"{coverage:g}; ask for less, or train with a larger validation part"
            )


def _as_many(labels: int, coverage: float) -> int:
    """Of so many held-out labels so many must fit better than a new one may."""
    return ceil((labels + 1) * coverage - 1e-9)
