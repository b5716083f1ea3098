"""What does not fit is refused where it comes in, by name, for every method."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from graphs import random_batch
from torch import Tensor

from gmpool import GMPool, GraphMultisetTransformer, SelfAtt
from gmpool.errors import UserError
from gmpool.graph import Edges
from gmpool.ops.segment import segment_sum
from gmpool.pool import METHODS
from gmpool.pool.method import GraphSizes, Pooled

WIDTH = 4
SIZES = GraphSizes(6.0, (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12))
WRONG: dict[str, tuple[dict[str, Any], str]] = {}
BATCH = random_batch([5, 3], WIDTH, dtype=torch.float32)
X, INDEX, GRAPHS, E = BATCH.x, BATCH.edge_index, BATCH.batch, BATCH.edge_index.shape[1]
META = torch.zeros(2, E, dtype=torch.long, device="meta")
WRONG = {
    "list": ({"x": X.tolist()}, "x as a tensor"),
    "three axes": ({"x": X[None]}, r"x of shape \[N, 4\], got \(1, 8, 4\)"),
    "width": ({"x": X[:, :3]}, "width 4, got x of width 3"),
    "integers": ({"x": X.long()}, "floating-point numbers, got torch.int64"),
    "rows elsewhere": ({"x": X.to("meta")}, "meta"),
    "edges of floats": ({"edge_index": INDEX.float()}, "torch.int64, got torch.float32"),
    "edges turned": ({"edge_index": INDEX.t()}, rf"\[2, E\], got \({E}, 2\)"),
    "edges elsewhere": ({"edge_index": META}, "edge_index is on meta, but x on cpu"),
    "a node too large": ({"edge_index": INDEX + 1}, "names node 8, but there are 8 nodes"),
    "a node below 0": ({"edge_index": INDEX - 1}, "names node -1"),
    "edges of others": ({"edge_index": Edges(INDEX, 9)}, "of 9 nodes, but x has 8"),
    "batch of floats": ({"batch": GRAPHS.float()}, "torch.int64, got torch.float32"),
    "batch too short": ({"batch": GRAPHS[1:]}, r"shape \(8,\), got \(7,\)"),
    "batch elsewhere": ({"batch": GRAPHS.to("meta")}, "batch is on meta, but the rows on cpu"),
    "a graph below 0": ({"batch": GRAPHS - 1}, "smallest -1"),
    "too few graphs": ({"batch_size": 1}, "batch_size is 1"),
    "a size of text": ({"batch_size": "2"}, "a number of graphs, got '2'"),
}
WEIGHTS: dict[str, tuple[Any, str]] = {
    "too few": (torch.ones(E - 1), rf"shape \({E},\), got \({E - 1},\)"),
    "integers": (torch.ones(E, dtype=torch.long), "floating point, got torch.int64"),
    "elsewhere": (torch.ones(E, device="meta"), "edge_weight is on meta"),
}


def called(module: torch.nn.Module, **changed: Any) -> Any:
    given = {"x": X, "edge_index": INDEX, "batch": GRAPHS, "batch_size": None, **changed}
    return module(**given)


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", METHODS)
def test_every_method_refuses_what_does_not_fit(name: str, wrong: str) -> None:
    changed, says = WRONG[wrong]
    with pytest.raises(UserError, match=says):
        called(METHODS[name](WIDTH, 8, sizes=SIZES), **changed)


@pytest.mark.parametrize("wrong", WRONG)
def test_so_do_the_readout_and_its_blocks(wrong: str) -> None:
    changed, says = WRONG[wrong]
    for module in (GraphMultisetTransformer(WIDTH, 8, num_seeds=2), GMPool(WIDTH, 2)):
        with pytest.raises(UserError, match=says):
            called(module, **changed)
    if "edge_index" not in changed and wrong != "three axes":  # which SelfAtt takes
        given = {"x": X, "batch": GRAPHS, **changed}
        with pytest.raises(UserError, match=says):
            SelfAtt(WIDTH)(**given)


@pytest.mark.parametrize("wrong", WEIGHTS)
def test_weights_of_edges(wrong: str) -> None:
    weight, says = WEIGHTS[wrong]
    for name in ("gmt", "sagpool", "diffpool", "haarpool"):
        with pytest.raises(UserError, match=says):
            called(METHODS[name](WIDTH, 8, sizes=SIZES), edge_weight=weight)


def test_types_of_weights_and_rows_agree_or_autocast_sees_to_it() -> None:
    pool = METHODS["gmt"](WIDTH, 8, num_seeds=2)
    for dtype in (torch.float64, torch.bfloat16):
        with pytest.raises(UserError, match=rf"weights of torch.float32, but x is of {dtype}"):
            called(pool, x=X.to(dtype))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert called(pool, x=X.bfloat16()).x.isfinite().all()


def per_graph(pooled: Pooled) -> Tensor:
    """Sums of the rows of each graph, which come in any order. [B, D]"""
    if pooled.segments is None:
        return pooled.x
    return segment_sum(pooled.x.flatten(0, -2), pooled.segments)


@pytest.mark.parametrize("name", METHODS)
def test_graphs_may_come_unsorted_and_numbers_in_32_bits(name: str) -> None:
    torch.manual_seed(0)
    pool = METHODS[name](WIDTH, 8, sizes=SIZES).eval()
    out = called(pool)
    torch.testing.assert_close(called(pool, edge_index=INDEX.int()).x, out.x)
    torch.testing.assert_close(called(pool, batch=GRAPHS.int()).x, out.x)
    mixed = BATCH.permuted(torch.tensor([5, 0, 6, 1, 2, 7, 3, 4]), torch.arange(E))
    assert (mixed.batch.diff() < 0).any()
    for batch in (mixed.batch, mixed.batch.int()):
        found = called(pool, x=mixed.x, edge_index=mixed.edge_index, batch=batch)
        torch.testing.assert_close(per_graph(found), per_graph(out))
