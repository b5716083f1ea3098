from __future__ import annotations

import torch

from gmpool.data.pack import pack

SIZES = torch.tensor([2, 0, 3])
SOURCE = torch.tensor([4, 1, 0, 2, 3, 1])
TARGET = torch.tensor([3, 0, 1, 2, 4, 0])


def test_edges_are_sorted_by_graph_target_and_source() -> None:
    weight = torch.arange(6.0)
    graphs = pack(name="g", sizes=SIZES, source=SOURCE, target=TARGET, edge_weight=weight)
    graphs.validate()
    assert graphs.node_ptr.tolist() == [0, 2, 2, 5]
    assert graphs.row_ptr.tolist() == [0, 2, 3, 4, 5, 6]
    assert graphs.col.tolist() == [1, 1, 0, 0, 2, 1]  # counted inside each graph
    assert graphs.edge_weight is not None
    assert graphs.edge_weight.tolist() == [1.0, 5.0, 2.0, 3.0, 0.0, 4.0]


def test_simple_graphs_have_no_loops_and_of_parallel_edges_the_first() -> None:
    kind = torch.tensor([[0], [1], [2], [3], [4], [5]])
    graphs = pack(
        name="g",
        sizes=SIZES,
        source=SOURCE,
        target=TARGET,
        edge_cat=kind,
        edge_cat_sizes=[300],
        simple=True,
    )
    assert graphs.col.tolist() == [1, 0, 2, 1]
    assert graphs.edge_cat is not None
    assert graphs.edge_cat.squeeze(1).tolist() == [1, 2, 0, 4]
    assert graphs.edge_cat.dtype == torch.int16


def test_no_graphs_and_no_edges() -> None:
    none = torch.empty(0, dtype=torch.int64)
    assert pack(name="none", sizes=none, source=none, target=none).num_graphs == 0
    bare = pack(name="bare", sizes=torch.tensor([2]), source=none, target=none, simple=True)
    assert (bare.num_nodes, bare.num_edges) == (2, 0)
