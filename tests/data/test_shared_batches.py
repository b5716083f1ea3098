"""A batch that is shared out: all of it, once, in nearly equal parts of its nodes."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_sets import classes

from gmpool.data.epoch_batches import epoch_batches
from gmpool.data.shared_batches import nodes_in, own_part, owners, shared_batches

sizes = st.lists(st.integers(0, 40), min_size=1, max_size=30)


@given(sizes=sizes, batch_size=st.integers(1, 12), parts=st.integers(1, 5))
def test_parts_are_even_by_nodes(sizes: list[int], batch_size: int, parts: int) -> None:
    nodes = torch.tensor(sizes)
    owner = owners(nodes, batch_size, parts)
    for batch, of in zip(nodes.split(batch_size), owner.split(batch_size), strict=True):
        assert torch.equal(of, of.sort().values), "the graphs of a part follow each other"
        each = torch.zeros(parts).index_add_(0, of, batch.float())
        even, largest = float(batch.sum()) / parts, int(batch.max())
        assert float((each - even).abs().max()) <= largest + 1e-3


@pytest.mark.parametrize("parts", [1, 2, 3, 9])
@pytest.mark.parametrize("batch_size", [1, 5, 24, 100])
def test_the_parts_together_are_the_batches_of_one_process(parts: int, batch_size: int) -> None:
    graphs = classes()
    ids = torch.arange(20)

    def shuffle() -> torch.Generator:
        return torch.Generator().manual_seed(4)

    wholes = list(epoch_batches(graphs, ids, batch_size, shuffle()))
    shares = [
        list(shared_batches(graphs, ids, batch_size, shuffle(), part=p, parts=parts))
        for p in range(parts)
    ]
    for whole, *each in zip(wholes, *shares, strict=True):
        together = torch.cat([share.part.ids for share in each])
        assert torch.equal(together, whole.ids)
        assert all(torch.equal(share.whole.ids, whole.ids) for share in each)
        assert torch.equal(torch.cat([share.part.x for share in each]), whole.x)
        edges = [share.part.edge_index + share.nodes_before for share in each]
        assert torch.equal(torch.cat(edges, 1), whole.edge_index)
        counts = [share.part.num_graphs for share in each]
        assert [share.graphs_before for share in each] == [sum(counts[:p]) for p in range(parts)]
        assert {share.has_empty for share in each} == {0 in counts}


def test_graphs_that_are_shared_out_once() -> None:
    graphs, ids = classes(), torch.tensor([7, 3, 11, 2, 20])
    parts = [own_part(graphs, ids, part=p, parts=2) for p in range(2)]
    assert torch.equal(torch.cat(parts), ids)
    nodes = [int(nodes_in(graphs, part).sum()) for part in parts]
    assert abs(nodes[0] - nodes[1]) <= 7
    assert own_part(graphs, ids[:0], part=1, parts=2).numel() == 0
