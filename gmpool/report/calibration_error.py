"""Whether probabilities and deviations mean what they say, on graphs whose labels are known."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Array = NDArray[Any]
BINS = 10
FEWEST = 5
"""In a bin: of fewer a share says nothing, and there are fewer bins."""
PROMISED = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])


class Reliability(NamedTuple):
    """What was said and what was true, bin by bin, from the least probable. [k] each"""

    said: Array
    """Mean probability, of 1."""
    true: Array
    """Share of what came true, of 1."""
    graphs: Array
    """How many are in the bin."""

    @property
    def error(self) -> float:
        """The mean distance between the two, each bin by its count; of 1."""
        return float(np.sum(self.graphs * np.abs(self.said - self.true)) / self.graphs.sum())


def reliability(probability: Array, yes: Array, *, bins: int = BINS) -> Reliability:
    """In bins of equal count; equal probabilities are in one bin, which may then be larger.

    probability [n] of 1; yes [n]: whether it came true, bool or 0 and 1. At least one.
    """
    order = np.argsort(probability, kind="stable")
    said, true = probability[order].astype(np.float64), np.asarray(yes, np.float64)[order]
    n = len(said)
    wanted = max(1, min(bins, n // FEWEST))
    ends = np.arange(1, wanted + 1) * n // wanted
    # A bin reaches to the last of those that are equal to its own last.
    ends = np.unique(np.searchsorted(said, said[ends - 1], side="right"))
    count = np.diff(ends, prepend=0)
    starts = ends - count
    return Reliability(
        np.add.reduceat(said, starts) / count, np.add.reduceat(true, starts) / count, count
    )


def calibration_error(probability: Array, yes: Array, *, bins: int = BINS) -> float:
    """The expected calibration error in bins of equal count; of 1."""
    return reliability(probability, yes, bins=bins).error


def share_inside(error: Array, deviation: Array, promised: Array = PROMISED) -> Array:
    """Which share of truths lies so near to its prediction as a normal error of the deviation would
    with each probability that is promised. error, deviation [n]; promised [k] of 1 -> [k]"""
    reach = stats.norm.ppf((1 + promised) / 2)  # [k]
    return np.asarray((np.abs(error)[:, None] <= reach * deviation[:, None]).mean(0))
