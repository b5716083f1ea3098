"""The image of a graph under a map of its nodes: equal pairs become one edge, loops none."""

from __future__ import annotations

import torch
from torch import Tensor

from gmpool.graph.matrices import SparseMatrix
from gmpool.graph.pairs import Slots
from gmpool.ops.segment import Segments, segment_sum
from gmpool.ops.sparse import Pattern

# Slots per edge from which on sorting the edges is cheaper, and slots that never matter.
SLOTS_PER_EDGE, FEW_SLOTS = 32, 2**20


def image(adjacency: SparseMatrix, cluster: Tensor, rows: Segments) -> SparseMatrix:
    """Edges between the M clusters of N nodes. cluster [N] in 0 … M-1, rows: the M rows' graphs.

    Weights of edges with the same image are summed; without weights they count once.
    """
    source = cluster.index_select(0, adjacency.pattern.col)
    target = cluster.index_select(0, adjacency.pattern.rows)
    pairs = int(rows.counts.square().sum())
    if pairs > FEW_SLOTS + SLOTS_PER_EDGE * source.shape[0]:
        pattern, entry = _by_sort(source, target, rows.batch.shape[0])
    else:
        pattern, entry = _by_slots(source, target, rows, pairs)
    if adjacency.weight is None:
        return SparseMatrix(pattern, None)
    no_loop = (source != target).nonzero()[:, 0]
    weight, entry = (t.index_select(0, no_loop) for t in (adjacency.weight, entry))
    parts = Segments.from_batch(entry, entry.shape[0], entry.device, pattern.col.shape[0])
    return SparseMatrix(pattern, segment_sum(weight[:, None], parts)[:, 0])


def _by_slots(source: Tensor, target: Tensor, rows: Segments, pairs: int) -> tuple[Pattern, Tensor]:
    """The pattern, and the entry that each edge becomes (any for a loop)."""
    slots = Slots.of(rows)
    # Loops go to a spare slot, which is not read.
    slot = slots.slot(target, source).masked_fill_(source == target, pairs)
    filled = torch.zeros(pairs + 1, dtype=torch.bool, device=slot.device)
    pattern, full = slots.pattern(filled.index_fill_(0, slot, True)[:-1])
    number = torch.arange(full.shape[0], device=full.device)
    entry_of = torch.zeros_like(filled, dtype=torch.long).index_copy_(0, full, number)
    return pattern, entry_of.index_select(0, slot)


def _by_sort(source: Tensor, target: Tensor, num_rows: int) -> tuple[Pattern, Tensor]:
    """Likewise."""
    loop = source == target
    key = (target * num_rows + source).masked_fill_(loop, num_rows**2)
    keys, entry = torch.unique(key, return_inverse=True)
    keys = keys[: keys.shape[0] - int(loop.any())]
    ends = torch.stack([keys % num_rows, keys // num_rows])
    return SparseMatrix.from_edge_index(ends, num_rows)[0].pattern, entry
