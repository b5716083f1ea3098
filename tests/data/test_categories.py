from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from gmpool.data import PackedGraphs
from gmpool.data.categories import with_categories
from gmpool.data.pack import pack
from gmpool.errors import DataError


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
