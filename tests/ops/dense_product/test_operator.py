"""Products with adjacencies as bits are those with the matrices: values, derivatives, replicas."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from dense_sets import SIZES, dense_set, graphs_of
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from gmpool.data import GraphBatch
from gmpool.data.pack import pack
from gmpool.graph.batch_edges import BatchEdges
from gmpool.ops.dense_product import dense_product
from gmpool.ops.dense_product.reference import dense_product_reference

WHICH = pytest.mark.parametrize("normalised", [False, True], ids=["plain", "gcn"])


@WHICH
@pytest.mark.parametrize("width", [1, 7, 33, 128, 200])
def test_product_is_that_of_the_sparse_matrix(width: int, normalised: bool) -> None:
    """Of any graphs in any order; made-up nodes get zeros, whatever they have."""
    torch.manual_seed(0)
    dataset, ids, none = dense_set(), [3, 7, 0, 5, 1, 6, 2, 4, 3], len(SIZES)
    graphs, scale = graphs_of(dataset, [*ids[:4], none, *ids[4:], none], made_up=5)
    edges = BatchEdges(GraphBatch(dataset, ids))
    N = int(graphs.ptr[-1])
    x = torch.randn(N, width, dtype=torch.float64)
    y = dense_product(graphs, x, scale if normalised else None)
    expected = (edges.gcn if normalised else edges.plain).matmul(x[:-5])
    torch.testing.assert_close(y[:-5], expected, atol=1e-5, rtol=1e-5)
    assert y[-5:].eq(0).all()
    reference = dense_product_reference(graphs, x, scale if normalised else None)
    torch.testing.assert_close(y, reference, atol=1e-12, rtol=1e-12)


@WHICH
def test_derivatives_of_both_orders(normalised: bool) -> None:
    torch.manual_seed(0)
    graphs, scale = graphs_of(dense_set([3, 1, 2]), [2, 0, 1], made_up=1)
    x = torch.randn(7, 2, dtype=torch.float64, requires_grad=True)

    def product(x: Tensor) -> Tensor:
        return dense_product(graphs, x, scale if normalised else None)

    assert gradcheck(product, (x,))
    assert gradgradcheck(product, (x,))


@WHICH
def test_gradient_is_that_of_the_reference(normalised: bool) -> None:
    torch.manual_seed(0)
    graphs, scale = graphs_of(dense_set(), [7, 2, 5], made_up=3)
    x = torch.randn(int(graphs.ptr[-1]), 33, dtype=torch.float64, requires_grad=True)
    probe = torch.randn_like(x)
    found, expected = (
        torch.autograd.grad(f(graphs, x, scale if normalised else None), x, probe)[0]
        for f in (dense_product, dense_product_reference)
    )
    torch.testing.assert_close(found, expected, atol=1e-12, rtol=1e-12)


@WHICH
def test_replicas_are_what_each_is_alone(normalised: bool) -> None:
    """Other graphs and other offsets in each; the same number of nodes."""
    torch.manual_seed(0)
    dataset = dense_set()
    many, scale = graphs_of(dataset, [7, 4, 2, 8], made_up=1)
    few, _ = graphs_of(dataset, [0, 5, 8, 6], made_up=35)
    S = scale if normalised else None
    x = torch.randn(2, 165, 7, dtype=torch.float64, requires_grad=True)

    def one(x: Tensor, ids: Tensor, ptr: Tensor) -> Tensor:
        return dense_product(replace(many, ids=ids, ptr=ptr), x, S)

    index = [torch.stack([getattr(g, name) for g in (many, few)]) for name in ("ids", "ptr")]
    y = torch.vmap(one)(x, *index)
    alone = torch.stack([dense_product(g, x[r], S) for r, g in enumerate((many, few))])
    torch.testing.assert_close(y, alone, atol=1e-12, rtol=1e-12)
    probe = torch.randn_like(y)
    found, expected = (torch.autograd.grad(out, x, probe)[0] for out in (y, alone))
    torch.testing.assert_close(found, expected, atol=1e-12, rtol=1e-12)
    shared = torch.vmap(lambda x: dense_product(many, x, S), in_dims=2, out_dims=2)(x[0][:, None])
    torch.testing.assert_close(shared[:, 0], y[0], atol=1e-12, rtol=1e-12)


def test_order_of_nodes_does_not_matter() -> None:
    torch.manual_seed(0)
    n = 70
    has = torch.rand(n, n) < 0.5
    has = has.triu(1) | has.triu(1).t()
    order, x = torch.randperm(n), torch.randn(n, 5, dtype=torch.float64)
    found = []
    for matrix, rows in ((has, x), (has[order][:, order], x[order])):
        source, target = matrix.nonzero(as_tuple=True)
        dataset = pack(name="one", sizes=torch.tensor([n]), source=source, target=target)
        graphs, scale = graphs_of(dataset, [0])
        found.append(dense_product(graphs, rows, scale))
    torch.testing.assert_close(found[0][order], found[1], atol=1e-12, rtol=1e-12)


def test_half_precision_is_summed_in_float32() -> None:
    graphs, scale = graphs_of(dense_set([100]), [0])
    x = torch.randn(100, 4).bfloat16()
    y = dense_product(graphs, x, scale)
    assert y.dtype == torch.bfloat16
    exact = dense_product(graphs, x.double(), scale)
    torch.testing.assert_close(y.double(), exact, atol=0.01, rtol=0.01)


def test_without_nodes_or_columns() -> None:
    graphs, scale = graphs_of(dense_set([3]), [1, 1])
    assert dense_product(graphs, torch.zeros(0, 5), scale).shape == (0, 5)
    graphs, scale = graphs_of(dense_set([3]), [0])
    assert dense_product(graphs, torch.zeros(3, 0), scale).shape == (3, 0)
