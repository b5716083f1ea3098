"""Splits that nothing random decides: by scaffold, and by time."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Ints = NDArray[np.int64]
_ROUNDING = 1e-3
"""In hundredths of a graph: shares such as 33.3 need not sum to 100 exactly."""


class Times(NamedTuple):
    """When each graph was made or measured."""

    column: str
    values: Tensor
    """float64 [G]: seconds, years or whatever is counted."""
    words: tuple[str, ...]
    """As they were written."""


def scaffold_parts(sizes: Ints, shares: Sequence[float]) -> Ints:
    """The part of each scaffold [M] by the rule of the Open Graph Benchmark: the largest first, of
    equal ones the last found; into train where that leaves it within its share, else into valid
    where that leaves both within theirs, else into test.

    sizes [M]: molecules of each, numbered by their first molecule. shares: percent of each part.

    Two things are beyond that rule: a first scaffold that is larger than train is train, where no
    part is to be larger; and where there are scaffolds enough, no part with a share stays empty.
    """
    count, made, filled = int(sizes.sum()), np.empty(len(sizes), np.int64), [0, 0, 0]
    order = sorted(range(len(sizes)), key=lambda group: (sizes[group], group), reverse=True)
    for done, group in enumerate(order):
        size = int(sizes[group])
        fits = 100 * (filled[0] + size) <= shares[0] * count + _ROUNDING
        if fits or (not filled[0] and shares[0] == max(shares)):
            part = 0
        else:
            both = (shares[0] + shares[1]) * count + _ROUNDING
            part = 1 if 100 * (filled[0] + filled[1] + size) <= both else 2
        empty = [part for part, share in enumerate(shares) if share and not filled[part]]
        if part not in empty and len(order) - done <= len(empty):
            part = empty[0]
        made[group] = part
        filled[part] += size
    return made


def time_parts(times: NDArray[np.float64], groups: Ints, targets: Sequence[int]) -> Ints | None:
    """The part of each group [M]: the earliest are train, the latest test; equal times stay
    together. A group counts with its latest graph, so that train holds nothing from after its end.
    None where there are fewer times than parts.

    times [G]; groups [G]: of each graph, 0 to M-1. targets: the graphs that each part wants; a part
    ends where the times come nearest to that.
    """
    latest = np.full(groups.max() + 1, -np.inf)
    np.maximum.at(latest, groups, times)
    _, moment, counts = np.unique(latest[groups], return_inverse=True, return_counts=True)
    ends = counts.cumsum()  # graphs up to each moment
    wanted = [part for part, target in enumerate(targets) if target]
    if len(ends) < len(wanted):
        return None
    asked = np.cumsum(targets)
    of_moment = np.full(len(ends), wanted[-1])
    begin = 0
    for number, part in enumerate(wanted[:-1]):
        last = len(ends) - (len(wanted) - 1 - number)  # what is left must do for the other parts
        end = begin + int(np.abs(ends[begin:last] - asked[part]).argmin()) + 1
        of_moment[begin:end] = part
        begin = end
    made = np.empty(len(latest), np.int64)
    made[groups] = of_moment[moment]
    return made
