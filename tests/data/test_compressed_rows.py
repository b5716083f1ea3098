from __future__ import annotations

import pytest
import torch
from hypothesis import given
from random_graphs import data_lists, dense, packed_sets
from torch_geometric.data import Data
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from gmpool.data import PackedGraphs, from_pyg
from gmpool.data.compressed_rows import features, local_ids, small_int, transpose


@pytest.mark.parametrize(
    ("largest", "dtype"),
    [
        (0, torch.uint8),
        (2**8 - 1, torch.uint8),
        (2**8, torch.int16),
        (2**15 - 1, torch.int16),
        (2**15, torch.int32),
        (2**31 - 1, torch.int32),
        (2**31, torch.int64),
    ],
)
def test_the_smallest_type_holds_the_largest_number(largest: int, dtype: torch.dtype) -> None:
    assert small_int(largest) == dtype
    assert torch.iinfo(dtype).max >= largest


def test_local_ids_begin_anew_in_each_graph() -> None:
    assert local_ids(torch.tensor([0, 2, 2, 5]), torch.uint8).tolist() == [0, 1, 0, 1, 2]


@given(packed_sets())
def test_a_transpose_of_a_transpose_is_the_matrix(graphs: PackedGraphs) -> None:
    rows, back = graphs.rows, graphs.reversed_rows
    again = transpose(back, graphs.node_ptr)
    assert torch.equal(again.row_ptr, rows.row_ptr)
    assert torch.equal(again.col, rows.col)
    if rows.weight is not None:
        # Parallel edges keep their order both times, for the sort is stable.
        assert torch.equal(again.weight, rows.weight)
    assert torch.equal(back.edge_ptr, rows.edge_ptr)


@given(data_lists(simple=True))
def test_undirected_simple_graphs_are_symmetric(data: list[Data]) -> None:
    graphs = from_pyg(data)
    batch = graphs.batch(range(len(graphs)))
    adjacency = dense(batch.graph.rowptr, batch.graph.col, batch.graph.weight)
    assert graphs.symmetric == torch.equal(adjacency, adjacency.T)


@given(data_lists(simple=True))
def test_gcn_equals_pyg(data: list[Data]) -> None:
    graphs = from_pyg(data)
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
    weight = from_pyg([data]).batch([0]).gcn.weight
    assert weight is not None
    assert torch.isfinite(weight).all()
    assert (weight == 0).all()


def test_loops_keep_their_weight_and_parallel_edges_add_up() -> None:
    edges = torch.tensor([[0, 0, 0, 1], [0, 1, 1, 0]])
    data = Data(x=torch.ones(3, 1), edge_index=edges, edge_weight=torch.tensor([5.0, 1, 2, 4]))
    batch = from_pyg([data]).batch([0])
    index, weight = gcn_norm(edges, data.edge_weight, 3)
    want = torch.zeros(3, 3).index_put((index[1], index[0]), weight, accumulate=True)
    torch.testing.assert_close(dense(batch.gcn.rowptr, batch.gcn.col, batch.gcn.weight), want)


def test_features_are_numbers_then_one_hot_columns() -> None:
    floats, cat = torch.tensor([[0.5], [2.0]]), torch.tensor([[1, 0], [0, 2]])
    assert features(floats, cat, (2, 3), 2).tolist() == [
        [0.5, 0, 1, 1, 0, 0],
        [2.0, 1, 0, 0, 0, 1],
    ]
    assert features(floats, None, (), 2) is floats
    assert features(None, None, (), 2).shape == (2, 0)
