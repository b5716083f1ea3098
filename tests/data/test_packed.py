from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import packed_sets
from torch_geometric.data import Data

from gmpool.data import PackedGraphs, from_pyg


@given(packed_sets(), st.data())
def test_batch_of_select_is_select_of_batch(graphs: PackedGraphs, draw: st.DataObject) -> None:
    some = st.lists(st.integers(0, len(graphs) - 1), min_size=1, max_size=5)
    chosen = draw.draw(some)
    within = draw.draw(st.lists(st.integers(0, len(chosen) - 1), max_size=4))
    part = graphs.select(chosen).validate()
    got, want = part.batch(within), graphs.batch([chosen[i] for i in within])
    assert part.num_features == graphs.num_features
    for field in ("x", "y", "ptr", "batch", "edge_index"):
        assert torch.equal(getattr(got, field), getattr(want, field)), field
    torch.testing.assert_close(got.gcn.weight, want.gcn.weight)


def test_degree_features_with_a_fixed_width() -> None:
    graphs = from_pyg([Data(num_nodes=2, edge_index=torch.tensor([[0], [1]]))])
    assert graphs.with_degree_features(3).batch([0]).x.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0]]
