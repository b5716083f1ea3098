"""Which nodes are kept, against a loop; and how many rows suffice."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given

from gmpool.ops.segment import Segments
from gmpool.ops.selection import best_of_each, kept_per_graph, places, rows_of_fixed_batch

sizes_of_graphs = st.lists(st.integers(0, 7), min_size=1, max_size=5).filter(any)


@given(sizes=sizes_of_graphs, seed=st.integers(0, 10**6), ratio=st.floats(0.01, 1.0))
def test_the_best_nodes_of_each_graph(sizes: list[int], seed: int, ratio: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    batch = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    batch = batch[torch.randperm(len(batch), generator=generator)]
    score = torch.randint(0, 4, (len(batch),), generator=generator).double()  # with ties
    segments = Segments.from_batch(batch, len(batch), None, len(sizes))
    kept, left = best_of_each(score, segments, ratio)
    expected = []
    for b, n in enumerate(sizes):
        nodes = sorted((batch == b).nonzero()[:, 0].tolist(), key=lambda i: (-score[i], i))
        expected += nodes[: int(kept_per_graph(torch.tensor([n]), ratio))]
    assert kept.tolist() == sorted(expected)
    assert left.num_graphs == len(sizes)
    for b in range(len(sizes)):
        rows = left.order[left.ptr[b] : left.ptr[b + 1]]
        assert sorted(kept[rows].tolist()) == [i for i in kept.tolist() if batch[i] == b]


@pytest.mark.parametrize(
    ("n", "ratio", "kept"), [(4, 0.25, 1), (5, 0.25, 2), (1, 0.25, 1), (0, 0.5, 0), (30, 0.1, 3)]
)
def test_how_many_are_kept(n: int, ratio: float, kept: int) -> None:
    assert int(kept_per_graph(torch.tensor([n]), ratio)) == kept


@given(
    sizes=st.lists(st.integers(0, 40), max_size=9),
    more=st.integers(1, 9),
    ratio=st.one_of(st.floats(1e-12, 1.0), st.sampled_from([0.1, 0.25, 0.29, 0.5, 1.0])),
)
def test_a_fixed_batch_has_room_for_all_that_are_kept(
    sizes: list[int], more: int, ratio: float
) -> None:
    """And for one row that is made up, but not for many more."""
    kept = int(kept_per_graph(torch.tensor(sizes, dtype=torch.long), ratio).sum())
    nodes = sum(sizes) + more
    rows = rows_of_fixed_batch(nodes, len(sizes) + 1, ratio)
    assert kept < rows <= nodes
    assert rows <= ratio * nodes + len(sizes) + 1


@given(mask=st.lists(st.booleans(), min_size=1, max_size=12), more=st.integers(0, 4))
def test_places_with_a_count(mask: list[bool], more: int) -> None:
    there = torch.tensor(mask)
    found = there.nonzero()[:, 0]
    expected = found.tolist() + more * [len(mask) - 1]
    assert torch.equal(places(there, None), found)
    assert places(there, len(found) + more).tolist() == expected
