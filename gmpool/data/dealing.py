"""Groups of graphs dealt out to the parts of a split, none of them cut.

Those with the rarest label go first: Sechidis, Tsoumakas and Vlahavas, "On the Stratification of
Multi-Label Data", 2011, here for groups of any size, and with parts that are not overfull.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

Ints = NDArray[np.int64]
_ROUNDING = 1e-9


def deal(
    sizes: Ints, targets: Sequence[int], generator: torch.Generator, strata: Ints | None = None
) -> Ints:
    """The part of each of M groups, int64 [M], in an order that the generator draws.

    sizes [M]: the graphs of each group. targets [P]: the graphs that each part wants, together as
    many as there are; a part that wants none gets none. strata [M, L]: how many graphs of a group
    have each of the labels that are spread in proportion to the targets.

    No part exceeds its target by a whole group, and none that wants graphs stays empty where there
    are groups enough.
    """
    strata = np.zeros((len(sizes), 0), np.int64) if strata is None else strata
    order = torch.randperm(len(sizes), generator=generator).numpy()
    # Large groups first, while the others can still make up for them; those of a size within a
    # factor of two stay in random order.
    order = order[np.argsort(-np.frexp(sizes[order])[1], kind="stable")]
    parts, made = _Parts(targets, len(sizes)), np.empty(len(sizes), np.int64)
    left = strata.sum(0)  # [L]: graphs that are not dealt
    lack = np.outer(targets, left) / max(sum(targets), 1)  # [P, L]: what each part should yet get
    while len(order):
        label = _rarest(left)
        now = np.ones(len(order), bool) if label is None else strata[order, label] > 0
        for group in order[now].tolist():
            wanted = None if label is None else lack[:, label].tolist()
            made[group] = part = parts.take(int(sizes[group]), wanted)
            lack[part] -= strata[group]
            left -= strata[group]
        order = order[~now]
    return made


def _rarest(left: Ints) -> int | None:
    """The label that the fewest graphs have which are not dealt; None where none has any."""
    if not left.any():
        return None
    return int(np.where(left > 0, left, left.max() + 1).argmin())


class _Parts:
    """How full the parts are."""

    def __init__(self, targets: Sequence[int], groups: int) -> None:
        self.targets, self.room, self.groups = targets, list(targets), groups
        self.open = [part for part, target in enumerate(targets) if target > 0]
        self.empty = list(self.open)

    def take(self, size: int, lack: Sequence[float] | None) -> int:
        """The part that the next group goes to: one with room for it, with a lack of its label if
        there is such, and of those the one with the largest share of its target left."""
        parts = self.empty if self.groups <= len(self.empty) else self.open
        most = max(self.room[part] for part in parts)
        fitting = [part for part in parts if self.room[part] >= min(size, most)]
        if lack is not None:
            whole = [part for part in fitting if lack[part] >= 1 - _ROUNDING]
            fitting = whole or [part for part in fitting if lack[part] > _ROUNDING] or fitting
        part = max(fitting, key=lambda part: self.room[part] / self.targets[part])
        self.room[part] -= size
        self.groups -= 1
        if part in self.empty:
            self.empty.remove(part)
        return part
