"""Nodes that look alike have one state: which nodes of a batch are distinct after how many rounds.

After t rounds of messages the state of a node depends on nothing but what lies within t edges of
it. Of the 95,000 atoms of a step of GLN on USPTO-50k 2 % of the states are distinct after the
first round, 12 % after the second and 25 % after the third: outcomes of a reaction share most of
their atoms' surroundings. Where each state is made once, products with weights have so many rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from gmpool.graph.colours import Ints, mix, sums_between
from gmpool.graph.distinct import entries_of, first_of_each, listed
from gmpool.ops.segment import Segments
from gmpool.ops.sparse import Pattern


class Round(NamedTuple):
    """The states after a round of messages."""

    own: Tensor  # [U]: the kind of each
    heard: Pattern
    """States of the round before, of each one's neighbours. [U, before]"""


class DistinctNodes(NamedTuple):
    """The distinct states of a batch, and how they are made of each other."""

    first: Tensor  # [kinds]: a node of each kind
    rounds: list[Round]
    nodes: Pattern  # [N, U]: the last state of each node

    @classmethod
    def of(cls, kind: Tensor, pattern: Pattern, rounds: int) -> DistinctNodes:
        """kind [N]: equal numbers for nodes that begin alike. pattern [N, N]: of each node those
        that it hears. Both on a CPU."""
        row_ptr, col = pattern.rowptr.numpy(), pattern.col.numpy()
        first, kinds = first_of_each(kind.numpy().astype(np.int64))
        own, state, count = mix(kinds), kinds, len(first)
        begin, found = first, list[Round]()
        for _ in range(rounds):
            heard = sums_between(mix(np.arange(count))[state[col]], row_ptr)
            first, following = first_of_each(mix(own ^ mix(heard)))
            ptr, entries = entries_of(row_ptr, first)
            heard_states = listed(ptr, state[col[entries]], count)
            found.append(Round(torch.from_numpy(kinds[first]), heard_states))
            state, count = following, len(first)
        return cls(torch.from_numpy(begin), found, _one_each(state, count))

    def summed(self, segments: Segments) -> Segments:
        """Sums and means of nodes, taken of the rows of their states instead."""
        return _OfStates(segments, self.nodes)


class _OfStates(Segments):
    """Graphs as Segments know them, but that a node's row is its state's."""

    def __init__(self, segments: Segments, nodes: Pattern) -> None:
        super().__init__(segments.batch, segments.order, segments.ptr, segments.real)
        self._nodes = nodes

    @property
    def pattern(self) -> Pattern:
        states = self._nodes.col[self.order].numpy()
        return listed(self.ptr.numpy(), states, self._nodes.t_rowptr.shape[0] - 1)


def _one_each(state: Ints, count: int) -> Pattern:
    return listed(np.arange(len(state) + 1), state, count)
