from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import data_lists, dense, packed_sets, slow_extract
from torch_geometric.data import Data
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from gmpool.data import PackedGraphs, epoch_batches


@given(packed_sets(), st.data())
def test_batch_equals_extraction_by_loops(graphs: PackedGraphs, draw: st.DataObject) -> None:
    ids = draw.draw(st.lists(st.integers(0, len(graphs) - 1), max_size=6))
    batch = graphs.batch(ids)
    x, owner, sources, targets, positions, ptr = [], [], [], [], [], [0]
    whole = graphs.batch(range(len(graphs))).x
    for b, g in enumerate(ids):
        one = slow_extract(graphs, g)
        x += [whole[n] for n in one["nodes"]]
        owner += [b] * len(one["nodes"])
        sources += [s + ptr[-1] for s, _, _ in one["edges"]]
        targets += [t + ptr[-1] for _, t, _ in one["edges"]]
        positions += [p for _, _, p in one["edges"]]
        ptr.append(ptr[-1] + len(one["nodes"]))
    assert batch.num_graphs == len(ids)
    assert batch.num_nodes == ptr[-1]
    assert batch.ptr.tolist() == ptr
    assert batch.batch.tolist() == owner
    assert batch.edge_index.tolist() == [sources, targets]
    assert batch.edge_index.dtype == batch.batch.dtype == torch.int64
    assert batch.x.shape == (ptr[-1], graphs.num_features)
    if x:
        assert torch.equal(batch.x, torch.stack(x))
    assert graphs.y is not None
    assert torch.equal(batch.y, graphs.y[torch.tensor(ids, dtype=torch.int64)])
    if graphs.edge_weight is not None:
        assert torch.equal(batch.edge_weight, graphs.edge_weight[positions])
    if graphs.edge_cat is not None:
        one_hot = torch.nn.functional.one_hot(
            graphs.edge_cat[positions].long().squeeze(1), graphs.edge_cat_sizes[0]
        )
        assert torch.equal(batch.edge_attr, one_hot.float())
    else:
        assert batch.edge_attr is None


@given(packed_sets())
def test_transposes(graphs: PackedGraphs) -> None:
    batch = graphs.batch(range(len(graphs)))
    for csr in (batch.graph, batch.gcn):
        forward = dense(csr.rowptr, csr.col, csr.weight)
        torch.testing.assert_close(dense(csr.t_rowptr, csr.t_col, csr.t_weight), forward.T)
        if csr.t_perm is not None:
            row = torch.repeat_interleave(csr.rowptr.diff())
            t_row = torch.repeat_interleave(csr.t_rowptr.diff())
            assert torch.equal(csr.col[csr.t_perm], t_row)
            assert torch.equal(row[csr.t_perm], csr.t_col)
            if csr.weight is not None:
                torch.testing.assert_close(csr.weight[csr.t_perm], csr.t_weight)
    adjacency = dense(batch.graph.rowptr, batch.graph.col, batch.graph.weight)
    if graphs.symmetric:
        assert torch.equal(adjacency, adjacency.T)
        for csr in (batch.graph, batch.gcn):
            assert csr.t_rowptr is csr.rowptr
            assert csr.t_col is csr.col
            assert csr.t_weight is csr.weight
        assert batch.gcn.t_perm is None
    else:
        assert batch.gcn.t_perm is not None


@given(data_lists(simple=True))
def test_undirected_simple_graphs_are_symmetric(data: list[Data]) -> None:
    graphs = PackedGraphs.from_pyg(data)
    batch = graphs.batch(range(len(graphs)))
    adjacency = dense(batch.graph.rowptr, batch.graph.col, batch.graph.weight)
    assert graphs.symmetric == torch.equal(adjacency, adjacency.T)


@given(data_lists(simple=True))
def test_gcn_equals_pyg(data: list[Data]) -> None:
    graphs = PackedGraphs.from_pyg(data)
    batch = graphs.batch(range(len(graphs)))
    index, weight = gcn_norm(batch.edge_index, batch.edge_weight, batch.num_nodes)
    want = torch.zeros(batch.num_nodes, batch.num_nodes).index_put((index[1], index[0]), weight)
    got = dense(batch.gcn.rowptr, batch.gcn.col, batch.gcn.weight)
    torch.testing.assert_close(got, want)
    ends = batch.gcn.rowptr.tolist()
    for row in range(batch.num_nodes):
        columns = batch.gcn.col[ends[row] : ends[row + 1]].tolist()
        assert columns == sorted(set(columns)), f"row {row} is not sorted"


def test_gcn_of_negative_and_zero_degree_is_finite() -> None:
    data = Data(
        x=torch.ones(2, 1),
        edge_index=torch.tensor([[0, 1], [1, 0]]),
        edge_weight=torch.tensor([-1.0, -3.0]),
    )
    weight = PackedGraphs.from_pyg([data]).batch([0]).gcn.weight
    assert weight is not None
    assert torch.isfinite(weight).all()
    assert (weight == 0).all()


def test_loops_keep_their_weight_and_parallel_edges_add_up() -> None:
    edges = torch.tensor([[0, 0, 0, 1], [0, 1, 1, 0]])
    data = Data(x=torch.ones(3, 1), edge_index=edges, edge_weight=torch.tensor([5.0, 1, 2, 4]))
    batch = PackedGraphs.from_pyg([data]).batch([0])
    index, weight = gcn_norm(edges, data.edge_weight, 3)
    want = torch.zeros(3, 3).index_put((index[1], index[0]), weight, accumulate=True)
    torch.testing.assert_close(dense(batch.gcn.rowptr, batch.gcn.col, batch.gcn.weight), want)


def test_numeric_columns_come_before_one_hot_ones() -> None:
    data = [Data(x=torch.tensor([[7.0], [8.0]]), edge_index=torch.tensor([[0], [1]]))]
    graphs = PackedGraphs.from_pyg(data).with_degree_features()
    assert graphs.batch([0]).x.tolist() == [[7.0, 1.0, 0.0], [8.0, 0.0, 1.0]]


def test_wide_sets_are_not_kept_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    data = [Data(x=torch.randn(3, 2), edge_index=torch.tensor([[0, 1], [1, 2]]))]
    small = PackedGraphs.from_pyg(data).with_degree_features()
    want = small.batch([0, 0]).x
    monkeypatch.setattr("gmpool.data.packed.DENSE_LIMIT", 0)
    wide = PackedGraphs.from_pyg(data).with_degree_features()
    assert torch.equal(wide.batch([0, 0]).x, want)


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


def test_no_ids_give_no_batches_and_bad_ids_raise() -> None:
    graphs = PackedGraphs.from_pyg([Data(x=torch.ones(1, 1), edge_index=torch.empty(2, 0).long())])
    assert list(epoch_batches(graphs, [], 4)) == []
    with pytest.raises(ValueError, match="batch_size must be at least 1"):
        next(epoch_batches(graphs, [0], 0))
    with pytest.raises(IndexError):
        _ = graphs.batch([1]).ptr
