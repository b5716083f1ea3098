from __future__ import annotations

from importlib import import_module

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import packed_sets
from torch_geometric.data import Data

from gmpool.data import PackedGraphs, epoch_batches, from_pyg

MODULE = import_module("gmpool.data.epoch_batches")  # its name is also that of its function


@given(packed_sets(), st.integers(1, 4), st.integers(0, 9))
def test_an_epoch_is_every_graph_once(graphs: PackedGraphs, size: int, seed: int) -> None:
    ids = torch.arange(len(graphs))
    plain = list(epoch_batches(graphs, ids, size))
    assert torch.cat([b.ids for b in plain]).tolist() == ids.tolist()
    shuffled = [
        torch.cat([b.ids for b in epoch_batches(graphs, ids, size, generator)]).tolist()
        for generator in (torch.Generator().manual_seed(seed), torch.Generator().manual_seed(seed))
    ]
    assert shuffled[0] == shuffled[1]
    assert sorted(shuffled[0]) == ids.tolist()


@given(packed_sets(), st.integers(1, 4))
def test_batches_of_an_epoch_equal_batches_made_alone(graphs: PackedGraphs, size: int) -> None:
    for batch in epoch_batches(graphs, range(len(graphs)), size, torch.Generator()):
        if graphs.symmetric:
            assert batch.gcn.t_col is batch.gcn.col
            assert batch.graph.t_rowptr is batch.graph.rowptr
        alone = graphs.batch(batch.ids)
        for field in ("x", "ptr", "batch", "y", "edge_index", "node_ids", "edge_ids"):
            assert torch.equal(getattr(batch, field), getattr(alone, field)), field
        for field in ("graph", "gcn"):
            for got, want in zip(getattr(batch, field), getattr(alone, field), strict=True):
                assert (got is None and want is None) or torch.equal(got, want), field


def test_no_ids_give_no_batches() -> None:
    graphs = from_pyg([Data(x=torch.ones(1, 1), edge_index=torch.empty(2, 0).long())])
    assert list(epoch_batches(graphs, [], 4)) == []
    with pytest.raises(ValueError, match="batch_size must be at least 1"):
        next(epoch_batches(graphs, [0], 0))


@given(packed_sets(), st.integers(1, 3))
def test_small_groups_give_the_same_batches(graphs: PackedGraphs, size: int) -> None:
    together = list(epoch_batches(graphs, range(len(graphs)), size))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MODULE, "GROUP_SIZE", 0)  # each batch is made alone
        alone = list(epoch_batches(graphs, range(len(graphs)), size))
    assert len(together) == len(alone) == -(-len(graphs) // size)
    for one, other in zip(together, alone, strict=True):
        assert torch.equal(one.ids, other.ids)
        assert torch.equal(one.edge_index, other.edge_index)
