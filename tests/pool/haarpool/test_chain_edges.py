"""One pooling along a chain, of a batch of a set and of loose edges."""

from __future__ import annotations

import pytest
import torch
from haar_chains import SIZES, some_graphs

from gmpool.errors import UserError
from gmpool.graph.batch_edges import BatchEdges, batch_segments
from gmpool.graph.edges import Edges
from gmpool.pool.haarpool.chain_edges import ChainStep, chain_step

LEVELS = 3


def both_ways() -> tuple[ChainStep, ChainStep]:
    """The first step of the same graphs, given as a batch of a set and as tensors."""
    batch = some_graphs(weighted=True).batch(torch.arange(len(SIZES)))
    segments = batch_segments(batch)
    loose = Edges(batch.edge_index, batch.num_nodes, edge_weight=batch.edge_weight)
    return chain_step(BatchEdges(batch), segments, LEVELS), chain_step(loose, segments, LEVELS)


def steps_of(step: ChainStep) -> list[ChainStep]:
    found = [step]
    for _ in range(LEVELS - 1):
        found.append(chain_step(found[-1].edges, found[-1].segments, None))
    return found


def test_a_set_and_its_tensors_take_the_same_steps() -> None:
    ones = torch.ones(sum(SIZES), 1)
    for of_set, of_tensors in zip(*map(steps_of, both_ways()), strict=True):
        assert torch.equal(of_set.cluster, of_tensors.cluster)
        assert torch.equal(of_set.counts, of_tensors.counts)
        assert torch.equal(of_set.segments.ptr, of_tensors.segments.ptr)
        assert torch.equal(of_set.edges.edge_index, of_tensors.edges.edge_index)
        assert (of_set.basis is None) == (of_tensors.basis is None)
        ones = of_set.counts[:, None].float()
    assert ones.shape == (len(SIZES), 1)  # the last step leaves one row per graph


def test_the_clusters_list_their_nodes() -> None:
    step, _ = both_ways()
    p = step.clusters
    assert torch.equal(p.rowptr[1:] - p.rowptr[:-1], step.counts)
    assert torch.equal(step.cluster[p.col.long()], p.rows.to(step.cluster))
    assert sorted(p.col.tolist()) == list(range(sum(SIZES)))


def test_the_chain_is_as_long_as_was_said() -> None:
    last = steps_of(both_ways()[0])[-1]
    with pytest.raises(UserError, match=r"has 0 pooling\(s\) left, not one more"):
        chain_step(last.edges, last.segments, None)
    with pytest.raises(UserError, match="at least one pooling, got levels=0"):
        chain_step(last.edges, last.segments, 0)
