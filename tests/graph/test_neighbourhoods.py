"""Missing loops are added, others stay; the transpose follows."""

from __future__ import annotations

import networkx as nx
import pytest
import torch
from graphs import random_batch
from torch import Tensor

from gmpool.graph.edges import Edges
from gmpool.graph.matrices import SparseMatrix
from gmpool.graph.neighbourhoods import reach, with_loops


def with_loops_reference(adjacency: SparseMatrix, dtype: torch.dtype) -> Tensor:
    """What with_loops means, as a dense matrix. [N, N]"""
    p = adjacency.pattern
    eye = torch.eye(p.rowptr.shape[0] - 1, dtype=dtype, device=p.col.device)
    has_loop = SparseMatrix(p, None).matmul(eye).diagonal() > 0
    return adjacency.matmul(eye) + torch.diag((~has_loop).to(dtype))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("loops", [[], [0, 3, 9]])
def test_with_loops_equals_the_reference(weighted: bool, directed: bool, loops: list[int]) -> None:
    torch.manual_seed(0)
    batch = random_batch([6, 1, 0, 5], 3, directed=directed, weighted=weighted)
    own = torch.tensor([loops, loops], dtype=torch.long)
    edge_index = torch.cat([batch.edge_index, own], 1)
    weight = None
    if weighted:
        weight = torch.cat([batch.weight, torch.full((len(loops),), 3.0, dtype=torch.float64)])
        weight.requires_grad_()
    N = len(batch.x)
    adjacency, _ = SparseMatrix.from_edge_index(edge_index, N, weight)
    found, expected = with_loops(adjacency), with_loops_reference(adjacency, torch.float64)
    x = batch.x.clone().requires_grad_()
    torch.testing.assert_close(found.matmul(x), expected @ x)
    assert len(found.pattern.col) == edge_index.shape[1] + N - len(loops)
    inputs = [x] if weight is None else [x, weight]
    probe = torch.randn_like(x)
    for a, b in zip(
        torch.autograd.grad(found.matmul(x), inputs, probe, retain_graph=True),
        torch.autograd.grad(expected @ x, inputs, probe),
        strict=True,
    ):
        torch.testing.assert_close(a, b)


def test_a_symmetric_pattern_stays_one() -> None:
    batch = random_batch([5, 4], 1)
    pattern = SparseMatrix.from_edge_index(batch.edge_index, 9)[0].pattern
    shared = type(pattern)(
        pattern.rowptr, pattern.col, pattern.rowptr, pattern.col, pattern.to_t, pattern.from_t
    )
    looped = with_loops(SparseMatrix(shared, None)).pattern
    assert looped.t_col is looped.col
    assert torch.equal(looped.rows[looped.to_t], looped.col)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("hops", [1, 2, 3])
def test_pairs_within_so_many_steps(hops: int, directed: bool) -> None:
    batch = random_batch([8, 1, 0, 6], 2, density=0.2, directed=directed, seed=3)
    edges = Edges.of(batch.edge_index, len(batch.x), torch.float64)
    pattern = reach(edges.plain.pattern, hops)
    found = set(zip(pattern.rows.tolist(), pattern.col.tolist(), strict=True))
    graph = nx.DiGraph(zip(*batch.edge_index.tolist(), strict=True))
    graph.add_nodes_from(range(len(batch.x)))
    expected = {
        (target, source)
        for source in graph
        for target, steps in nx.single_source_shortest_path_length(graph, source, hops).items()
        if steps > 0
    }
    assert found == expected
