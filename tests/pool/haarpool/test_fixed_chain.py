"""Chains in batches of fixed shape: what is real is what a ragged batch has."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from every_edges import first_replica
from small_sets import classes

from gmpool.data import GraphBatch
from gmpool.data.fixed_batch import FixedBatch
from gmpool.graph.batch_edges import BatchEdges, NotDeclared, batch_segments
from gmpool.graph.reads import batches_for
from gmpool.pool.haarpool.fixed_chain import ChainBatches
from gmpool.pool.haarpool.method import HaarPool

IDS = [3, 0, 9, 4]


def fixed_batch(levels: int, absent: int, slack: int) -> FixedBatch:
    along = partial(ChainBatches, levels=levels)
    batches = batches_for(classes(), {"gcn", "batch"}, kind=along)
    ids = torch.tensor([IDS + absent * [batches.empty]])
    bounds = batches.bounds(ids)
    assert len(bounds) == 3 + 4 * levels
    return first_replica(batches.make(ids, type(bounds)(*(n + slack for n in bounds))))


@pytest.mark.parametrize("levels", [1, 2, 3])
@pytest.mark.parametrize(("absent", "slack"), [(0, 0), (2, 0), (1, 9)])
def test_every_level_is_that_of_a_ragged_batch(levels: int, absent: int, slack: int) -> None:
    pool, fixed = HaarPool(1, 1), fixed_batch(levels, absent, slack)
    ragged = GraphBatch(classes(), IDS)
    ways = [(b, BatchEdges(b), batch_segments(b)) for b in (ragged, fixed)]
    x, edges, segments = zip(*[(b.x, e, s) for b, e, s in ways], strict=True)
    for level in range(levels):
        pooled = [
            pool(*given, levels=levels - level) for given in zip(x, edges, segments, strict=True)
        ]
        x, edges, segments = zip(*[(p.x, p.edges, p.segments) for p in pooled], strict=True)
        one, other = x
        real = len(one)
        torch.testing.assert_close(other[:real], one)
        assert other.isfinite().all()
        assert torch.equal(segments[1].ptr[: len(IDS) + 1], segments[0].ptr)
        assert segments[1].ptr[-2] == real
        if level + 1 < levels:
            torch.testing.assert_close(edges[1].gcn.matmul(other)[:real], edges[0].gcn.matmul(one))
    assert real == len(IDS)


def test_more_levels_than_the_batch_holds() -> None:
    batch = fixed_batch(2, 0, 0)
    with pytest.raises(NotDeclared, match=r"holds 2 level\(s\) of a chain, not 3"):
        HaarPool(1, 1)(batch.x, BatchEdges(batch), batch_segments(batch), levels=3)
