"""What methods share: options by name, numbers of rows, how they are called."""

from __future__ import annotations

import pytest
import torch
from graphs import random_batch

from gmpool.errors import UserError
from gmpool.graph.coarse_edges import CoarseEdges
from gmpool.graph.edges import Edges
from gmpool.graph.reads import reads_of
from gmpool.nn.inputs import WEIGHTED
from gmpool.ops.segment import Segments
from gmpool.pool import METHODS, method_options, method_summary
from gmpool.pool.method import GraphSizes, Method, Pooled, rows_wanted

SIZES = GraphSizes(17.9, deciles=(0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15))


def test_options_are_the_keywords_but_sizes() -> None:
    assert method_options("topk") == {"ratio": 0.25}
    assert method_options("mean") == {}
    assert method_options("edgepool") == {"score": "softmax", "dropout": 0.0}
    assert method_summary("mean").startswith("Mean of the nodes")


@pytest.mark.parametrize(("ratio", "rows"), [(0.25, 5), (0.01, 1), (1.0, 18), (0.5, 9)])
def test_a_share_of_the_mean_size(ratio: float, rows: int) -> None:
    assert SIZES.share(ratio) == rows
    assert rows_wanted(None, SIZES, ratio) == rows
    assert rows_wanted(7, SIZES, ratio) == 7


def test_the_size_under_which_so_many_lie() -> None:
    assert SIZES.under(60) == 9
    assert SIZES.under(0) == 1  # a graph without nodes has a row all the same
    assert rows_wanted(None, SIZES, 0.25, "size60") == 9
    with pytest.raises(UserError, match="sizes of the graphs are not known"):
        GraphSizes(17.9).under(60)


def test_numbers_of_rows_that_make_no_sense() -> None:
    with pytest.raises(UserError, match="num_rows must lie between 1 and 10,000, got 0"):
        rows_wanted(0, SIZES, 0.25)
    with pytest.raises(UserError, match="give either the number of rows"):
        rows_wanted(None, None, 0.25)
    with pytest.raises(UserError, match="unknown rule 'size6'; did you mean 'size60'"):
        rows_wanted(3, SIZES, 0.25, "size6")
    with pytest.raises(UserError, match=r"ratio must lie in \(0, 1\], got 1.5"):
        SIZES.share(1.5)


@pytest.mark.parametrize("name", METHODS)
def test_edges_and_segments_made_before_are_the_same(name: str) -> None:
    torch.manual_seed(0)
    pool = METHODS[name](4, 4, sizes=SIZES).double().eval()
    batch = random_batch([6, 1, 4], 4, weighted=bool(reads_of(pool) & WEIGHTED))
    args = {"edge_weight": batch.weight, "batch_size": 3}
    loose = pool(batch.x, batch.edge_index, batch.batch, **args)
    edges = Edges.of(batch.edge_index, 11, torch.float64, batch.weight)
    made = pool(batch.x, edges, Segments.from_batch(batch.batch, 11, None, 3))
    torch.testing.assert_close(loose.x, made.x)
    if batch.weight is not None:
        with pytest.raises(UserError, match="belong inside Edges"):
            pool(batch.x, edges, batch.batch, edge_weight=batch.weight)


def test_whether_it_can_be_stacked_may_depend_on_the_options() -> None:
    assert METHODS["topk"].has_fixed_shapes({"ratio": 0.5})
    assert not METHODS["asap"].has_fixed_shapes({})
    assert METHODS["structpool"].has_fixed_shapes({"hops": None, "rounds": 2})
    assert not METHODS["structpool"].has_fixed_shapes({"hops": 2})


def test_a_method_writes_pool() -> None:
    with pytest.raises(NotImplementedError):
        Method()(torch.ones(2, 3), torch.zeros(2, 0, dtype=torch.long))


def test_graph_vectors_have_no_coarse_graph() -> None:
    pooled = Pooled(torch.zeros(2, 3))
    assert (pooled.edge_index, pooled.edge_weight, pooled.batch) == (None, None, None)
    assert pooled.losses == {}
    assert pooled.losses is not Pooled(torch.zeros(2, 3)).losses


def test_a_coarse_graph_in_the_form_of_pyg() -> None:
    edge_index, weight = torch.tensor([[0, 1], [1, 0]]), torch.tensor([0.5, 2.0])
    edges = Edges(edge_index, 3, edge_weight=weight)
    segments = Segments.from_batch(torch.tensor([0, 0, 1]), 3, None, 2)
    pooled = Pooled(torch.zeros(3, 4), edges=edges, segments=segments)
    assert torch.equal(pooled.edge_index, edge_index)
    assert torch.equal(pooled.edge_weight, weight)
    assert pooled.batch.tolist() == [0, 0, 1]


def test_dense_coarse_graphs_have_all_pairs() -> None:
    blocks = torch.arange(8.0).view(2, 2, 2)  # entry (k, l) is the weight of l -> k
    pooled = Pooled(
        torch.zeros(2, 2, 4), edges=CoarseEdges(blocks), segments=Segments.uniform(2, 2)
    )
    source, target = pooled.edge_index.tolist()
    assert list(zip(source, target, pooled.edge_weight.tolist(), strict=True)) == [
        (0, 0, 0), (1, 0, 1), (0, 1, 2), (1, 1, 3), (2, 2, 4), (3, 2, 5), (2, 3, 6), (3, 3, 7)
    ]  # fmt: skip
    assert pooled.batch.tolist() == [0, 0, 1, 1]
