"""Selections in batches of fixed shape: what is real is what a ragged batch has."""

from __future__ import annotations

from types import SimpleNamespace

import hypothesis.strategies as st
import torch
from graphs import random_batch
from hypothesis import given
from torch import Tensor
from torch_geometric.data import Data

from gmpool.data import GraphBatch, PackedGraphs, from_pyg
from gmpool.data.fixed_batch import Bounds, FixedBatch, FixedBatches
from gmpool.graph.batch_edges import BatchEdges, batch_segments
from gmpool.graph.edges import Edges
from gmpool.graph.induced import induced
from gmpool.ops.segment import Segments
from gmpool.ops.selection import best_of_each, rows_of_fixed_batch

DEPTH = 3


def random_set(sizes: list[int], seed: int) -> PackedGraphs:
    """Graphs whose edges have features, and whose nodes whole numbers, so that they tie.

    One edge is added as a last graph: a set without any has no room in its batches.
    """
    edges = [random_batch([n], 1, seed=seed + n).edge_index for n in sizes]
    generator = torch.Generator().manual_seed(seed)
    made = []
    for n, edge in zip([*sizes, 2], [*edges, torch.tensor([[0, 1], [1, 0]])], strict=True):
        x = torch.randint(0, 3, (n, DEPTH), generator=generator).float()
        kind = edge.sum(0).remainder(5).float()[:, None]
        made.append(Data(x=x, edge_index=edge, edge_attr=kind, y=torch.tensor([0])))
    return from_pyg(made, name="random")


def fixed_batch(batches: FixedBatches, ids: list[int], slack: int) -> FixedBatch:
    wanted = torch.tensor([ids])
    made = batches.make(wanted, Bounds(*(n + slack for n in batches.bounds(wanted))))
    return made.with_({name: tensor[0] for name, tensor in made.tensors().items()})


def levels_of(x: Tensor, edges: Edges, segments: Segments, ratio: float) -> list[SimpleNamespace]:
    """Three selections one after the other, by one column of x each."""
    levels = []
    for depth in range(DEPTH):
        kept, segments = best_of_each(x[:, depth], segments, ratio)
        edges, x = induced(edges, kept, segments), x.index_select(0, kept)
        levels.append(SimpleNamespace(kept=kept, edges=edges, segments=segments, x=x))
    return levels


@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    absent=st.integers(0, 2),
    slack=st.sampled_from([0, 1, 7]),
    ratio=st.sampled_from([0.1, 0.25, 0.5, 0.8, 1.0]),
    seed=st.integers(0, 10**6),
)
def test_what_is_real_is_that_of_a_ragged_batch(
    sizes: list[int], absent: int, slack: int, ratio: float, seed: int
) -> None:
    graphs = random_set(sizes, seed)
    batches = FixedBatches(graphs, plain=True)
    ids = list(range(len(sizes)))
    ragged = GraphBatch(graphs, ids)
    fixed = fixed_batch(batches, ids + absent * [batches.empty], slack)
    B, nodes, entries = len(ids), fixed.num_nodes, fixed.edge_attr.shape[0]
    expected = levels_of(ragged.x, BatchEdges(ragged), batch_segments(ragged), ratio)
    found = levels_of(fixed.x, BatchEdges(fixed), batch_segments(fixed), ratio)
    for a, b in zip(expected, found, strict=True):
        real = len(a.kept)
        nodes = rows_of_fixed_batch(nodes, B + absent + 1, ratio)
        assert b.kept.shape == (nodes,)
        assert torch.equal(b.kept[:real], a.kept)
        assert torch.equal(b.segments.ptr[: B + 1], a.segments.ptr)
        assert torch.equal(b.segments.batch[:real], a.segments.batch)
        assert b.segments.batch[real:].eq(B + absent).all()
        assert b.segments.ptr[-2:].tolist() == [real, nodes]
        _same_matrix(a.edges, b.edges, real, entries)


def _same_matrix(a: Edges, b: Edges, real: int, entries: int) -> None:
    p, q = a.plain.pattern, b.plain.pattern
    E, rest = p.col.shape[0], q.rowptr[real:].diff()
    assert torch.equal(q.rowptr[: real + 1], p.rowptr)
    assert torch.equal(q.col[:E], p.col)
    assert q.col.shape == (entries,)
    assert q.rowptr[-1] == entries
    assert q.col[E:].eq(q.rowptr.shape[0] - 2).all()
    assert rest.max() - rest.min() <= 1  # shared out
    assert torch.equal(b.edge_index[:, :E], a.edge_index)
    assert torch.equal(b.edge_attr[:E], a.edge_attr)
    assert torch.equal(q.to_t[:E], p.to_t)
    assert torch.equal(q.from_t[:E], p.from_t)
    assert torch.equal(q.to_t[q.from_t], torch.arange(entries))
    rows = torch.randn(q.rowptr.shape[0] - 1, 2, dtype=torch.float64)
    for form in ("plain", "gcn"):
        x, y = (rows[:n].clone().requires_grad_() for n in (real, len(rows)))
        one, other = getattr(a, form).matmul(x), getattr(b, form).matmul(y)[:real]
        assert torch.equal(one, other)
        (g,) = torch.autograd.grad(one.square().sum(), x)
        (h,) = torch.autograd.grad(other.square().sum(), y)
        assert torch.equal(g, h[:real])
        assert h[real:].eq(0).all()
