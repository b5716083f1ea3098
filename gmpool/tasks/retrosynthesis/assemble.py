"""Index arithmetic for batches of fixed shape: every tensor has the R replicas first, and shapes
depend on bounds alone, so that a program that makes batches can be captured."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from gmpool.ops.sparse import Pattern


class Ragged(NamedTuple):
    """n entries of m owners, those of an owner one after the other; as many as there is room for.

    owner: m for entries that are made up. local: which of its owner's it is. ptr: where those of
    each owner begin, and then those that are made up. fits: whether there was room for all.
    """

    owner: Tensor  # [R, n]
    local: Tensor  # [R, n]
    ptr: Tensor  # [R, m+2]
    fits: Tensor  # [R]

    @property
    def there(self) -> Tensor:
        return self.owner < self.ptr.shape[1] - 2


def ragged(counts: Tensor, bound: int) -> Ragged:
    """counts [R, m], which are `bound` together at most"""
    R = counts.shape[0]
    ends = counts.cumsum(1)
    place = numbers(bound, counts)
    owner = torch.searchsorted(ends, place, right=True)
    begin = torch.cat([ends.new_zeros(R, 1), ends], dim=1)  # [R, m+1]
    ptr = torch.cat([begin.clamp(max=bound), begin.new_full((R, 1), bound)], dim=1)
    return Ragged(owner, place - begin.gather(1, owner), ptr, ends[:, -1] <= bound)


def numbers(count: int, like: Tensor) -> Tensor:
    """0 … count-1 in each replica. [R, count]"""
    return torch.arange(count, device=like.device).expand(like.shape[0], count).contiguous()


def of_owner(values: Tensor, owner: Tensor, default: int = 0) -> Tensor:
    """values [R, m] of each entry's owner; `default` of those that are made up. [R, n]"""
    more = values.new_full((values.shape[0], 1), default)
    return torch.cat([values, more], dim=1).gather(1, owner)


class Distinct(NamedTuple):
    """listed: the distinct numbers, sorted, then that of none. place: of each value among them.
    fits: whether there was room for all."""

    listed: Tensor  # [R, bound + 1]
    place: Tensor  # [R, n]
    fits: Tensor  # [R]


def distinct(values: Tensor, none: int, bound: int) -> Distinct:
    """Of values [R, n]. none: a number larger than all others."""
    R = values.shape[0]
    ordered, order = values.sort(dim=1)
    first = torch.ones_like(ordered)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    place = first.cumsum(1) - 1
    fits = (place < bound) | (ordered == none)
    place = place.clamp(max=bound)
    listed = values.new_full((R, bound + 1), none).scatter(1, place, ordered)
    return Distinct(listed, torch.zeros_like(place).scatter(1, order, place), fits.all(1))


def pattern(rows: Ragged, col: Tensor, width: int) -> Pattern:
    """The matrix with an entry for each of the ragged ones, in these columns of `width`. Those that
    are made up are in a row of their own, and in all columns in turn: none is longer for them."""
    n = col.shape[1]
    col = torch.where(rows.there, col, numbers(n, col) % width)
    ordered, order = col.sort(dim=1, stable=True)
    t_rowptr = torch.searchsorted(ordered, numbers(width + 1, col))
    from_t = torch.zeros_like(order).scatter(1, order, numbers(n, col))
    return Pattern(rows.ptr, col, t_rowptr, rows.owner.gather(1, order), order, from_t)
