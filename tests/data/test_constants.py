from __future__ import annotations

import pytest
import torch
from hypothesis import given
from random_graphs import packed_sets
from torch_geometric.data import Data

from gmpool.data import PackedGraphs, from_pyg


def test_wide_sets_are_not_kept_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    data = [Data(x=torch.randn(3, 2), edge_index=torch.tensor([[0, 1], [1, 2]]))]
    small = from_pyg(data).with_degree_features()
    want = small.batch([0, 0]).x
    monkeypatch.setattr("gmpool.data.constants.DENSE_LIMIT", 0)
    wide = from_pyg(data).with_degree_features()
    assert torch.equal(wide.batch([0, 0]).x, want)
    assert wide.dense_x is None
    assert torch.equal(wide.node_features(), small.dense_x)


@given(packed_sets())
def test_constants_are_made_once_and_anew_for_a_part(graphs: PackedGraphs) -> None:
    for name in ("rows", "reversed_rows", "gcn_rows", "gcn_reversed_rows", "dense_x"):
        assert getattr(graphs, name) is getattr(graphs, name)
        assert getattr(graphs.select([0]), name) is not getattr(graphs, name)
    assert torch.equal(graphs.node_features(), graphs.batch(range(len(graphs))).x)


def test_a_moved_set_keeps_what_does_not_depend_on_the_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graphs = from_pyg([Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]))])
    known = graphs.digest, graphs.symmetric
    monkeypatch.setattr("gmpool.data.constants.is_symmetric", None)
    monkeypatch.setattr("hashlib.sha256", None)
    moved = graphs.to("cpu")
    assert (moved.digest, moved.symmetric) == known
    assert type(moved) is PackedGraphs
