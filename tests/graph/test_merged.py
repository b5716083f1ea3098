"""Images of graphs against the dense product with the map, by slots and by a sort."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
import torch
from graphs import random_batch
from hypothesis import given
from torch import Tensor

from gmpool.graph import merged as module
from gmpool.graph.matrices import SparseMatrix
from gmpool.graph.merged import Slots, image
from gmpool.ops.row_ids import row_ids
from gmpool.ops.segment import Segments


@given(
    batch=st.lists(st.integers(0, 3), max_size=12),
    symmetric=st.booleans(),
    padded=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_the_pattern_has_the_filled_pairs(
    batch: list[int], symmetric: bool, padded: bool, seed: int
) -> None:
    M = len(batch)
    segments = Segments.from_batch(torch.tensor(batch, dtype=torch.long), M, None, 4)
    slots = Slots.of(segments, int(segments.counts.max()) if padded else None)
    generator = torch.Generator().manual_seed(seed)
    wanted = torch.rand(M, M, generator=generator) < 0.4
    wanted &= segments.batch[:, None] == segments.batch[None, :]
    if symmetric:
        wanted |= wanted.t().clone()
    row, col = wanted.nonzero(as_tuple=True)
    filled = torch.zeros(int(slots.first[-1]), dtype=torch.bool)
    filled[slots.slot(row, col)] = True

    pattern, full = slots.pattern(filled)
    assert torch.equal(pattern.rows, row)
    assert torch.equal(pattern.col, col)
    assert torch.equal(full, slots.slot(row, col))
    t_row = row_ids(pattern.t_rowptr, len(pattern.t_col))
    t_wanted = wanted.t().nonzero()
    assert torch.equal(torch.stack([t_row, pattern.t_col], 1), t_wanted)
    assert torch.equal(row[pattern.to_t], pattern.t_col)
    assert torch.equal(col[pattern.to_t], t_row)
    assert torch.equal(pattern.to_t[pattern.from_t], torch.arange(len(row)))
    if symmetric:
        assert pattern.t_col is pattern.col


@pytest.mark.parametrize("width", [None, 3])
def test_no_two_pairs_share_a_slot(width: int | None) -> None:
    segments = Segments.from_batch(torch.tensor([2, 0, 2, 1, 2, 0]), 6, None, 3)
    slots = Slots.of(segments, width)
    row, col = (segments.batch[:, None] == segments.batch).nonzero(as_tuple=True)
    taken = slots.slot(row, col)
    assert len(set(taken.tolist())) == len(row)
    assert int(slots.first[-1]) == (len(row) if width is None else 18)


def image_reference(adjacency: SparseMatrix, cluster: Tensor, rows: Segments) -> Tensor:
    """What image means, as a dense matrix: Cᵀ A C without its diagonal. [M, M]"""
    N, M = cluster.shape[0], rows.batch.shape[0]
    member = torch.eye(M, dtype=torch.float64, device=cluster.device)[cluster]
    dense = adjacency.matmul(torch.eye(N, dtype=torch.float64, device=cluster.device))
    coarse = member.t() @ dense @ member
    if adjacency.weight is None:
        coarse = (coarse > 0).double()
    return coarse.fill_diagonal_(0.0)


def merged(
    sizes: list[int], directed: bool, weighted: bool
) -> tuple[SparseMatrix, torch.Tensor, Segments]:
    """A batch with some loops, in a mixed order, with nodes merged at random in their graphs."""
    batch = random_batch(sizes, 2, directed=directed, weighted=weighted)
    N = len(batch.x)
    loops = torch.arange(0, N, 3).expand(2, -1)
    edge_index = torch.cat([batch.edge_index, loops], 1)
    weight = None
    if weighted:
        weight = torch.cat([batch.weight, torch.ones(loops.shape[1], dtype=torch.float64)])
        weight.requires_grad_()
    generator = torch.Generator().manual_seed(0)
    order = torch.randperm(N, generator=generator)
    edge_index, graph = order.argsort()[edge_index], batch.batch[order]
    part = graph * 4 + torch.randint(4, (N,), generator=generator)
    names, cluster = torch.unique(part, return_inverse=True)
    scramble = torch.randperm(len(names), generator=generator)
    graph_of = torch.empty(len(names), dtype=torch.long)
    graph_of[scramble] = names // 4
    rows = Segments.from_batch(graph_of, len(names), None, len(sizes))
    return SparseMatrix.from_edge_index(edge_index, N, weight)[0], scramble[cluster], rows


@pytest.mark.parametrize("by_sort", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("sizes", [[9, 1, 0, 12, 5], [1, 1], [0]])
def test_image_equals_the_reference(
    sizes: list[int],
    directed: bool,
    weighted: bool,
    by_sort: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if by_sort:
        monkeypatch.setattr(module, "FEW_SLOTS", -1)
        monkeypatch.setattr(module, "SLOTS_PER_EDGE", 0)
    adjacency, cluster, rows = merged(sizes, directed, weighted)
    coarse = image(adjacency, cluster, rows)
    expected = image_reference(adjacency, cluster, rows)
    M = len(rows.batch)
    eye = torch.eye(M, dtype=torch.float64)
    torch.testing.assert_close(coarse.matmul(eye), expected, atol=1e-12, rtol=1e-12)
    back = coarse.weight
    if back is not None:
        back = back.index_select(0, coarse.pattern.to_t)
    turned = SparseMatrix(coarse.pattern.transposed, back).matmul(eye)
    torch.testing.assert_close(turned, expected.t(), atol=1e-12, rtol=1e-12)
    pairs = list(zip(coarse.pattern.rows.tolist(), coarse.pattern.col.tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    if adjacency.weight is not None and pairs:
        probe = torch.randn(M, M, dtype=torch.float64)
        (found,) = torch.autograd.grad((coarse.matmul(eye) * probe).sum(), adjacency.weight)
        (wanted,) = torch.autograd.grad((expected * probe).sum(), adjacency.weight)
        torch.testing.assert_close(found, wanted, atol=1e-12, rtol=1e-12)
