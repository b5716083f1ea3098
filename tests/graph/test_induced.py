"""Subgraphs against dense matrices, and which nodes are kept against a loop."""

from __future__ import annotations

import hypothesis.strategies as st
import torch
from graphs import random_batch
from hypothesis import given
from torch import Tensor

from gmpool.graph.edges import Edges
from gmpool.graph.induced import induced
from gmpool.graph.matrices import SparseMatrix
from gmpool.ops.segment import Segments
from gmpool.ops.selection import best_of_each

sizes_of_graphs = st.lists(st.integers(0, 7), min_size=1, max_size=5).filter(any)


def dense(adjacency: SparseMatrix) -> Tensor:
    n = adjacency.pattern.rowptr.shape[0] - 1
    return adjacency.matmul(torch.eye(n, dtype=torch.float64))


def dense_gcn(a: Tensor) -> Tensor:
    a = a + torch.diag((a.diagonal() == 0).double())
    scale = a.sum(1).rsqrt()
    return scale[:, None] * a * scale[None, :]


@given(
    sizes=sizes_of_graphs,
    seed=st.integers(0, 10**6),
    weighted=st.booleans(),
    directed=st.booleans(),
    ratio=st.sampled_from([0.1, 0.25, 0.5, 1.0]),
)
def test_induced_is_a_block_of_the_matrix(
    sizes: list[int], seed: int, weighted: bool, directed: bool, ratio: float
) -> None:
    batch = random_batch(sizes, 3, seed=seed, weighted=weighted, directed=directed)
    n = len(batch.x)
    attr = torch.arange(batch.edge_index.shape[1], dtype=torch.float64)[:, None]
    edges = Edges.of(batch.edge_index, n, torch.float64, batch.weight, attr)
    segments = Segments.from_batch(batch.batch, n, None, batch.size)
    kept, left = best_of_each(batch.x[:, 0], segments, ratio)
    part = induced(edges, kept, left)
    block = torch.from_numpy(batch.dense())[kept][:, kept]
    torch.testing.assert_close(dense(part.plain), block)
    torch.testing.assert_close(part.gcn.matmul(torch.eye(len(kept)).double()), dense_gcn(block))
    assert torch.equal(batch.batch[kept], left.batch)
    # Every edge kept its own features.
    source, target = batch.edge_index
    for e, (j, i) in zip(part.edge_attr[:, 0].long(), part.edge_index.t(), strict=True):
        assert (source[e], target[e]) == (kept[j], kept[i])
    # The transpose, which only a backward uses.
    x = torch.randn(len(kept), 2, dtype=torch.float64, requires_grad=True)
    g = torch.randn(len(kept), 2, dtype=torch.float64)
    (grad,) = torch.autograd.grad((part.plain.matmul(x) * g).sum(), x)
    torch.testing.assert_close(grad, block.t() @ g)


def test_a_chain_of_subgraphs_on_packed_sets() -> None:
    """From a GraphBatch, whose symmetric matrices are their own transposes."""
    from small_sets import classes

    from gmpool.data import GraphBatch
    from gmpool.graph.batch_edges import BatchEdges, batch_segments

    batch = GraphBatch(classes(), [0, 3, 5])
    edges, segments = BatchEdges(batch), batch_segments(batch)
    kept, left = best_of_each(batch.x[:, 0], segments, 0.7)
    again, rest = best_of_each(batch.x[:, 1].index_select(0, kept), left, 0.7)
    both = kept.index_select(0, again)
    twice, once = induced(induced(edges, kept, left), again, rest), induced(edges, both, rest)
    assert torch.equal(twice.edge_index, once.edge_index)
    x = torch.randn(len(both), 3, requires_grad=True)
    twice.gcn.matmul(x).square().sum().backward()
    (grad,) = torch.autograd.grad(once.gcn.matmul(x).square().sum(), x)
    torch.testing.assert_close(x.grad, grad)
