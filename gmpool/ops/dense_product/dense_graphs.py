"""A batch of dense graphs, whose adjacency is kept as bits."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class DenseGraphs:
    """B graphs of a set, one after the other; their bits are those of the set.

    ids [B]: their numbers in the set. ptr [B+1]: where the nodes of each begin. A graph may have
    more nodes here than in the set: those are made up, and have no edges, not even to themselves.
    words, word_ptr, node_ptr: see `gmpool.data.adjacency_bits`.
    """

    ids: Tensor
    ptr: Tensor
    words: Tensor
    word_ptr: Tensor
    node_ptr: Tensor
