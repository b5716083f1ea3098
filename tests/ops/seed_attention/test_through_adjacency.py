"""Seed attention through Â: the same numbers and derivatives as with Z = Â X made."""

from __future__ import annotations

import pytest
import torch
from graphs import random_batch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck
from torch.func import vmap

from gmpool.graph.edges import gcn_edges
from gmpool.graph.matrices import SparseMatrix
from gmpool.ops.seed_attention import seed_attention_through
from gmpool.ops.seed_attention.reference import seed_attention_reference
from gmpool.ops.segment import Segments

H, K, D = 2, 3, 5
AXES = pytest.mark.parametrize("axis", ["seeds", "nodes"])


def a_batch(
    dtype: torch.dtype = torch.float64,
) -> tuple[SparseMatrix, Segments, tuple[Tensor, ...]]:
    """Directed, weighted graphs, one of them empty, whose nodes lie in any order."""
    batch = random_batch([4, 1, 0, 3], D, weighted=True, directed=True)
    torch.manual_seed(0)
    batch = batch.permuted(torch.randperm(8), torch.randperm(batch.edge_index.shape[1]))
    both, weight = gcn_edges(batch.edge_index, 8, batch.weight, torch.float64)
    gcn, _ = SparseMatrix.from_edge_index(both, 8, weight.to(dtype))
    segments = Segments.from_batch(batch.batch, 8, None, 4)
    shapes = ((8, D), (D, H * K), (H * K,))
    tensors = (torch.randn(*s, dtype=torch.float64).to(dtype).requires_grad_() for s in shapes)
    return gcn, segments, tuple(tensors)


@AXES
@pytest.mark.parametrize("learned_edges", [False, True])
def test_values_and_gradients_equal_the_reference(axis: str, learned_edges: bool) -> None:
    gcn, segments, tensors = a_batch()
    assert gcn.weight is not None
    if learned_edges:
        tensors = (*tensors, gcn.weight.requires_grad_())
    x, m, c = tensors[:3]
    reference = seed_attention_reference(gcn.matmul(x), m, c, segments, H, axis)
    (pooled,), mass, a = seed_attention_through(gcn, x, m, c, segments, H, axis)
    probes = [torch.randn_like(t) for t in reference]
    torch.testing.assert_close((pooled, mass, a), reference)
    found, expected = (
        torch.autograd.grad(out, tensors, probes) for out in ((pooled, mass, a), reference)
    )
    torch.testing.assert_close(found, expected)


@AXES
def test_derivatives_of_both_orders(axis: str) -> None:
    gcn, segments, tensors = a_batch()

    def run(*t: Tensor) -> tuple[Tensor, ...]:
        (pooled,), mass, a = seed_attention_through(gcn, *t, segments, H, axis)
        return pooled, mass, a

    assert gradcheck(run, tensors)
    assert gradgradcheck(run, tensors)


@AXES
def test_replicas_get_what_they_get_alone(axis: str) -> None:
    gcn, segments, (x, m, c) = a_batch()
    xs, ms, cs = (torch.stack([t.detach(), -t.detach(), 2 * t.detach()]) for t in (x, m, c))

    def run(*t: Tensor) -> tuple[Tensor, ...]:
        (pooled,), mass, a = seed_attention_through(gcn, *t, segments, H, axis)
        return pooled, mass, a

    together = vmap(run)(xs, ms, cs)
    for r in range(3):
        torch.testing.assert_close(tuple(t[r] for t in together), run(xs[r], ms[r], cs[r]))
