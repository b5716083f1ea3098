from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import dense, packed_sets, slow_extract
from torch_geometric.data import Data

from gmpool.data import PackedGraphs, from_pyg


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


def test_numeric_columns_come_before_one_hot_ones() -> None:
    data = [Data(x=torch.tensor([[7.0], [8.0]]), edge_index=torch.tensor([[0], [1]]))]
    graphs = from_pyg(data).with_degree_features()
    assert graphs.batch([0]).x.tolist() == [[7.0, 1.0, 0.0], [8.0, 0.0, 1.0]]


def test_bad_ids_raise() -> None:
    graphs = from_pyg([Data(x=torch.ones(1, 1), edge_index=torch.empty(2, 0).long())])
    with pytest.raises(IndexError):
        _ = graphs.batch([1]).ptr
