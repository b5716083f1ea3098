"""StructPool's mean field against loops over nodes."""

from __future__ import annotations

import pytest
import torch
from graphs import random_batch
from torch import Tensor

from gmpool.errors import UserError
from gmpool.graph.edges import Edges
from gmpool.ops.segment import Segments
from gmpool.pool.method import GraphSizes
from gmpool.pool.structpool import SMALL, StructPool

DIM, K = 4, 3


def within(adjacency: Tensor, hops: int | None) -> Tensor:
    """Which pairs interact, by walking."""
    n = len(adjacency)
    if hops is None:
        near = torch.ones(n, n, dtype=torch.bool)
    else:
        near, walk = torch.zeros(n, n, dtype=torch.bool), torch.eye(n, dtype=torch.bool)
        for _ in range(hops):
            walk = (adjacency @ walk.double()) > 0
            near |= walk
    return near.fill_diagonal_(False)


def loop(pool: StructPool, x: Tensor, z: Tensor, near: Tensor) -> Tensor:
    """Equations of the publication, one node and one neighbour at a time."""
    n = len(x)
    W = torch.zeros(n, n, dtype=x.dtype)
    for i in range(n):
        others = [j for j in range(n) if near[i, j]]
        if not others:
            continue
        total = sum(x[j] for j in others)
        floor = SMALL * x[i].norm() * (total if pool.hops else total + x[i]).norm()
        denominator = sum(x[i] @ x[j] for j in others)
        if denominator.abs() < floor:
            denominator = floor if denominator >= 0 else -floor
        for j in others:
            W[i, j] = (x[i] @ x[j]) / denominator
    u = z
    for _ in range(pool.rounds):
        q = u.softmax(1)
        message = torch.zeros_like(u)
        for i in range(n):
            for j in range(n):
                message[i] += W[i, j] * q[j]
        u = z - message @ pool.compatibility
    return u.softmax(1)


@pytest.mark.parametrize("hops", [None, 1, 2, 3])
@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_mean_field_is_the_loop(hops: int | None, rounds: int) -> None:
    batch = random_batch([6, 1, 8, 2], DIM, seed=4, density=0.3)
    torch.manual_seed(0)
    pool = StructPool(DIM, DIM, num_clusters=K, hops=hops, rounds=rounds).double()
    with torch.no_grad():
        pool.compatibility += 0.3 * torch.randn(K, K, dtype=torch.float64)
    edges = Edges.of(batch.edge_index, len(batch.x), torch.float64)
    segments = Segments.from_batch(batch.batch, len(batch.x), None, batch.size)
    s = pool.assign(batch.x, edges, segments)
    for b in range(batch.size):
        one = batch.alone(b)
        z = pool.unary(one.x, Edges.of(one.edge_index, len(one.x), torch.float64))
        near = within(torch.from_numpy(one.dense()), hops)
        expected = loop(pool, one.x, z, near)
        torch.testing.assert_close(s[batch.batch == b], expected, atol=1e-9, rtol=1e-9)


def test_features_that_are_orthogonal_or_0_stay_finite() -> None:
    x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, -1.0]], requires_grad=True)
    pool = StructPool(2, 2, num_clusters=2)
    pooled = pool(x, torch.tensor([[0, 1], [1, 0]]))
    pooled.x.sum().backward()
    assert pooled.x.isfinite().all()
    assert x.grad.isfinite().all()


def test_compatibility_begins_as_published() -> None:
    pool = StructPool(DIM, DIM, num_clusters=K)
    assert torch.equal(pool.compatibility.detach(), -torch.eye(K))


def test_number_of_clusters() -> None:
    sizes = GraphSizes(17.9, deciles=tuple(range(10, 21)))
    assert StructPool(DIM, DIM, sizes=sizes).rows_per_graph == 5
    assert StructPool(DIM, DIM, sizes=sizes, rule="size60").rows_per_graph == 16
    with pytest.raises(UserError, match="rule 'size50'"):
        StructPool(DIM, DIM, sizes=sizes, rule="size50")


@pytest.mark.parametrize("readout", ["graph", "convolution"])
def test_both_readouts_use_the_assignment(readout: str) -> None:
    """The mean of SᵀX alone would not depend on S at all."""
    batch = random_batch([9, 6], DIM)
    torch.manual_seed(1)
    pool = StructPool(DIM, DIM, num_clusters=4, readout=readout).double()
    out = pool(batch.x, batch.edge_index, batch.batch, batch_size=2).x
    assert out.shape == (2, pool.out_dim)
    out.sum().backward()
    assert pool.compatibility.grad.abs().max() > 0
