"""S A Sᵀ against the dense product: by tables and as sparse matrices, values and gradients."""

from __future__ import annotations

import pytest
import torch
from graphs import random_batch
from torch import Tensor

from gmpool.graph import cluster_product as module
from gmpool.graph.cluster_product import cluster_product, rows_of
from gmpool.graph.matrices import SparseMatrix
from gmpool.ops.segment import Segments
from gmpool.ops.selection import best_of_each
from gmpool.ops.sparse import Pattern


def cluster_product_reference(
    adjacency: SparseMatrix, clusters: Pattern, share: Tensor, loops: bool
) -> Tensor:
    """What cluster_product means, as a dense matrix. [M, M]"""
    M, N = clusters.rowptr.shape[0] - 1, clusters.t_rowptr.shape[0] - 1
    s = share.new_zeros(M, N)
    s = s.index_put((clusters.rows, clusters.col.long()), share, accumulate=True)
    a = adjacency.matmul(torch.eye(N, dtype=share.dtype, device=share.device))
    product = s @ a @ s.t()
    return product if loops else product - torch.diag(product.diagonal())


@pytest.mark.parametrize("path", ["table", "sparse"])
@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_product_equals_the_reference(
    path: str, loops: bool, weighted: bool, directed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if path == "sparse":
        monkeypatch.setattr(module, "LARGE_TABLE", 0)
    torch.manual_seed(0)
    batch = random_batch([8, 1, 0, 11, 2], 2, directed=directed, weighted=weighted)
    N = len(batch.x)
    batch = batch.permuted(torch.randperm(N), torch.randperm(batch.edge_index.shape[1]))
    weight = None if batch.weight is None else batch.weight.requires_grad_()
    adjacency, _ = SparseMatrix.from_edge_index(batch.edge_index, N, weight)
    segments = Segments.from_batch(batch.batch, N, None, batch.size)
    kept, left = best_of_each(torch.rand(N), segments, 0.5)
    clusters, entries = rows_of(adjacency.pattern, kept)
    share = torch.rand(len(adjacency.pattern.col), dtype=torch.float64, requires_grad=True)
    own = share.index_select(0, entries)

    coarse = cluster_product(adjacency, clusters, own, left, loops=loops)
    found = coarse.matmul(torch.eye(len(kept), dtype=torch.float64))
    expected = cluster_product_reference(adjacency, clusters, own, loops)
    torch.testing.assert_close(found, expected)
    assert loops or not (coarse.pattern.rows == coarse.pattern.col).any()
    probe = torch.randn_like(found)
    inputs = [share] if weight is None else [share, weight]
    for a, b in zip(
        torch.autograd.grad(found, inputs, probe, retain_graph=True),
        torch.autograd.grad(expected, inputs, probe),
        strict=True,
    ):
        torch.testing.assert_close(a, b)


def test_rows_of_keeps_rows_whole() -> None:
    batch = random_batch([6, 4], 1, directed=True)
    pattern = SparseMatrix.from_edge_index(batch.edge_index, 10)[0].pattern
    kept = torch.tensor([0, 3, 4, 9])
    rows, entries = rows_of(pattern, kept)
    assert torch.equal(kept[rows.rows], pattern.rows[entries])
    assert torch.equal(rows.col, pattern.col[entries])
    assert torch.equal(rows.transposed.rows, rows.col[rows.to_t])
    assert torch.equal(rows.t_col, rows.rows[rows.to_t])


@pytest.mark.parametrize("path", ["table", "sparse"])
@pytest.mark.parametrize("sizes", [[1], [1, 0, 1], [0]])
def test_graphs_without_pairs(path: str, sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    if path == "sparse":
        monkeypatch.setattr(module, "LARGE_TABLE", -1)
    batch = random_batch(sizes, 1)
    N = len(batch.x)
    adjacency, _ = SparseMatrix.from_edge_index(batch.edge_index, N)
    left = Segments.from_batch(batch.batch, N, None, batch.size)
    clusters, _ = rows_of(adjacency.pattern, torch.arange(N))
    coarse = cluster_product(adjacency, clusters, torch.zeros(0), left, loops=False)
    assert coarse.pattern.col.numel() == 0
    assert coarse.pattern.rowptr.tolist() == [0] * (N + 1)
