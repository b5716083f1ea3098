from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import packed_sets
from torch_geometric.data import Data

from gmpool.data import PackedGraphs, from_pyg
from gmpool.data.pack import pack
from gmpool.data.packed import with_categories
from gmpool.errors import DataError


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


def labelled(values: list[int], start: int) -> PackedGraphs:
    """One graph without edges whose nodes have these labels, counted from ``start``."""
    none = torch.empty(0, dtype=torch.int64)
    cat = torch.tensor(values).unsqueeze(1) - start
    return pack(
        name="set",
        sizes=torch.tensor([len(values)]),
        source=none,
        target=none,
        node_cat=cat,
        cat_sizes=(int(cat.max()) + 1,),
        cat_starts=(start,),
    )


def test_the_same_label_gets_the_number_that_the_model_knows() -> None:
    seen, new = labelled([3, 4, 6], 3), labelled([4, 6, 4], 4)
    fitted = with_categories(new, seen.cat_sizes, seen.cat_starts)
    assert fitted.node_cat is not None
    assert fitted.node_cat.squeeze(1).tolist() == [1, 3, 1]
    assert (fitted.cat_sizes, fitted.cat_starts) == ((4,), (3,))
    assert torch.equal(fitted.batch([0]).x[0], seen.batch([0]).x[1])
    assert fitted.node_cat.dtype == torch.uint8


def test_nothing_to_number_anew() -> None:
    graphs = labelled([3, 4], 3)
    assert with_categories(graphs, graphs.cat_sizes, graphs.cat_starts) is graphs
    bare = replace(graphs, node_cat=None, cat_sizes=(), cat_starts=())
    assert with_categories(bare, (4,), (3,)) is bare


@pytest.mark.parametrize("label", [2, 7])
def test_a_label_that_the_model_has_not_seen(label: int) -> None:
    with pytest.raises(DataError, match=rf"node 2 has category {label} .* knows 3 … 6"):
        with_categories(labelled([5, label], min(5, label)), (4,), (3,))
