"""Every matrix is the dense one that it stands for: products, transposes, gradients in x and in
its own entries."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from dense_sets import dense_set, graphs_of
from graphs import random_batch
from torch import Tensor
from torch.autograd import gradcheck

from gmpool.data import GraphBatch
from gmpool.graph.batch_edges import BatchEdges
from gmpool.graph.matrices import BitMatrix, BlockMatrix, ScaledMatrix, SparseMatrix
from gmpool.ops.matrix import Matrix

Made = tuple[Matrix, Tensor]  # and the dense matrix, [N, N]


def with_loops(*, weighted: bool) -> tuple[SparseMatrix, Tensor]:
    """Directed, with loops at two nodes, one node without edges."""
    batch = random_batch([5, 1, 4], 1, weighted=weighted, directed=True)
    edge_index = torch.cat([batch.edge_index, torch.tensor([[1, 7], [1, 7]])], dim=1)
    weight = torch.cat([batch.weight, torch.tensor([2.0, 0.5])]).double() if weighted else None
    values = torch.ones(edge_index.shape[1]).double() if weight is None else weight
    dense = torch.zeros(10, 10, dtype=torch.float64)
    dense.index_put_((edge_index[1], edge_index[0]), values, accumulate=True)
    return SparseMatrix.from_edge_index(edge_index, 10, weight)[0], dense


def symmetric() -> Made:
    """Of a packed set: without a permutation to its transpose, which is itself."""
    matrix = BatchEdges(GraphBatch(dense_set([3, 1, 4]), [2, 0, 1])).gcn
    assert isinstance(matrix, SparseMatrix)
    assert matrix.pattern.to_t is None
    p = matrix.pattern
    return matrix, torch.zeros(8, 8).index_put((p.rows, p.col.long()), matrix.weight).double()


def scaled(*, weighted: bool) -> Made:
    entries, dense = with_loops(weighted=weighted)
    dense = dense + torch.diag((dense.diagonal() == 0).double())
    scale = dense.sum(1).rsqrt()
    return ScaledMatrix.of(entries, torch.float64), scale[:, None] * dense * scale


def bits(*, normalised: bool) -> Made:
    dataset = dense_set([33, 1, 40])
    graphs, scale = graphs_of(dataset, [2, 0, 1])
    batch = GraphBatch(dataset, [2, 0, 1])
    a = torch.zeros(74, 74, dtype=torch.float64)
    a[batch.edge_index[1], batch.edge_index[0]] = 1.0
    if normalised:
        s = (1 + a.sum(1)).rsqrt()
        a = s[:, None] * (a + torch.eye(74)) * s
    return BitMatrix(graphs, 74, scale if normalised else None), a


def blocks() -> Made:
    b = torch.rand(3, 4, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return BlockMatrix(b), torch.block_diag(*b)


EVERY: dict[str, Callable[[], Made]] = {
    "sparse": lambda: with_loops(weighted=False),
    "sparse, weighted": lambda: with_loops(weighted=True),
    "sparse, symmetric": symmetric,
    "scaled": lambda: scaled(weighted=False),
    "scaled, weighted": lambda: scaled(weighted=True),
    "bits": lambda: bits(normalised=False),
    "bits, scaled": lambda: bits(normalised=True),
    "blocks": blocks,
}


@pytest.fixture(params=EVERY)
def made(request: pytest.FixtureRequest) -> Made:
    return EVERY[request.param]()


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-6)


def test_products_of_a_matrix_and_of_its_transpose(made: Made) -> None:
    torch.manual_seed(0)
    matrix, dense = made
    x = torch.randn(len(dense), 3, dtype=torch.float64)
    close(matrix.matmul(x), dense @ x)
    close(matrix.transposed.matmul(x), dense.t() @ x)
    close(matrix.transposed.transposed.matmul(x), dense @ x)


def test_gradient_is_a_product_with_the_transpose(made: Made) -> None:
    torch.manual_seed(0)
    matrix, dense = made
    x = torch.randn(len(dense), 2, dtype=torch.float64, requires_grad=True)
    probe = torch.randn_like(x)
    for one, other in ((matrix, dense), (matrix.transposed, dense.t())):
        (grad,) = torch.autograd.grad(one.matmul(x), x, probe)
        close(grad, other.t() @ probe)


@pytest.mark.parametrize("name", [name for name in EVERY if name != "blocks"])
def test_half_precision_rows_stay_so(name: str) -> None:
    matrix, dense = EVERY[name]()
    x = torch.randn(len(dense), 3).bfloat16()
    y = matrix.matmul(x)
    assert y.dtype == torch.bfloat16
    torch.testing.assert_close(y.double(), dense @ x.double(), atol=0.1, rtol=0.05)


@pytest.mark.parametrize("name", ["sparse", "sparse, weighted", "bits", "bits, scaled"])
def test_squares_of_each_row(name: str) -> None:
    matrix, dense = EVERY[name]()
    found = matrix.squares()
    assert found.shape == (len(dense), 1)
    close(found[:, 0].double(), dense.square().sum(1))


def test_entries_learn() -> None:
    entries, _ = with_loops(weighted=True)
    x = torch.randn(10, 2, dtype=torch.float64)
    weight, rows = entries.weight.requires_grad_(), torch.rand(2, 3, 3).double().requires_grad_()

    def with_weight(make: Callable[[SparseMatrix], Matrix]) -> Callable[[Tensor], Tensor]:
        def both_ways(w: Tensor) -> Tensor:
            matrix = make(SparseMatrix(entries.pattern, w))
            assert matrix.learns
            return torch.cat([matrix.matmul(x), matrix.transposed.matmul(x)])

        return both_ways

    assert gradcheck(with_weight(lambda a: a), (weight,))
    assert gradcheck(with_weight(lambda a: ScaledMatrix.of(a, torch.float64)), (weight,))
    assert BlockMatrix(rows).learns
    assert gradcheck(lambda b: BlockMatrix(b).matmul(x[:6]), (rows,))


def test_what_has_no_weights_learns_nothing() -> None:
    for name in ("sparse", "scaled", "bits", "bits, scaled", "blocks"):
        assert not EVERY[name]()[0].learns


def test_bits_list_no_entries() -> None:
    matrix, _ = bits(normalised=True)
    assert not {"pattern", "weight", "entries"} & set(dir(matrix))


def test_entries_say_which_edges_they_are() -> None:
    batch = random_batch([6, 3], 1, directed=True)
    shuffled = batch.edge_index[:, torch.randperm(batch.edge_index.shape[1])]
    matrix, order = SparseMatrix.from_edge_index(shuffled, 9)
    assert torch.equal(shuffled[:, order], matrix.edge_index)
    assert matrix.num_rows == 9
