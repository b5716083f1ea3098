from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import packed_sets
from torch_geometric.data import Data

from gmpool.data import PackedGraphs


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


def test_types_are_as_small_as_they_can_be() -> None:
    def path(n: int) -> Data:
        nodes = torch.arange(n)
        return Data(x=torch.ones(n, 1), edge_index=torch.stack([nodes[:-1], nodes[1:]]))

    assert PackedGraphs.from_pyg([path(256)]).col.dtype == torch.uint8
    graphs = PackedGraphs.from_pyg([path(257), path(2)])
    assert graphs.col.dtype == torch.int16
    assert PackedGraphs.from_pyg([path(2**15 + 1)]).col.dtype == torch.int32
    assert graphs.batch([0]).edge_index[0].tolist() == list(range(256))
    assert not graphs.symmetric
    assert graphs.mean_nodes == 129.5
    assert "graphs=2, nodes=259" in repr(graphs)


def test_digest_sees_content_and_not_the_device_or_the_order_of_edges() -> None:
    edges = torch.tensor([[0, 1, 2], [1, 2, 0]])
    one, two, three = (
        PackedGraphs.from_pyg([Data(x=x, edge_index=e)])
        for x, e in (
            (torch.ones(3, 1), edges),
            (torch.ones(3, 1), edges.flip(1)),
            (torch.zeros(3, 1), edges),
        )
    )
    assert one.digest == two.digest == one.to("cpu").digest != three.digest
    assert not one.symmetric
    assert not one.to("cpu").symmetric


def test_degree_features_with_a_fixed_width() -> None:
    graphs = PackedGraphs.from_pyg([Data(num_nodes=2, edge_index=torch.tensor([[0], [1]]))])
    assert graphs.with_degree_features(3).batch([0]).x.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0]]
