"""MinCutPool's losses against values worked out by hand, and against PyG's dense operator."""

from __future__ import annotations

import pytest
import torch
from graphs import random_batch
from torch_geometric.nn import dense_mincut_pool

from gmpool.graph.edges import Edges
from gmpool.ops.segment import Segments
from gmpool.pool.mincut import MinCutPool, cut_loss, normalised, orthogonality_loss


def square() -> tuple[Edges, torch.Tensor]:
    """The cycle 0-1-2-3, and its degrees."""
    source = torch.tensor([0, 1, 2, 3, 1, 2, 3, 0])
    target = torch.tensor([1, 2, 3, 0, 0, 1, 2, 3])
    edges = Edges(torch.stack([source, target]), 4, dtype=torch.float64)
    return edges, torch.full((4, 1), 2.0, dtype=torch.float64)


def halves(*cluster: int) -> torch.Tensor:
    return torch.nn.functional.one_hot(torch.tensor(cluster), 2).double()


@pytest.mark.parametrize(
    ("cluster", "inside"),
    [((0, 0, 1, 1), 4), ((0, 1, 0, 1), 0), ((0, 0, 0, 0), 8)],
)
def test_cut_loss_by_hand(cluster: tuple[int, ...], inside: int) -> None:
    """The weight inside clusters over the whole volume, 8: both ends of each of four edges."""
    edges, degree = square()
    s = halves(*cluster)
    segments = Segments.from_batch(None, 4, None, 1)
    loss = cut_loss(s, edges.plain.matmul(s), degree, segments)
    assert float(loss) == pytest.approx(-inside / 8)


def test_orthogonality_loss_by_hand() -> None:
    """Equal halves: SᵀS = 2I, so 0. One cluster: SᵀS/‖·‖ − I/√2 = diag(1 − 1/√2, −1/√2)."""
    segments = Segments.from_batch(None, 4, None, 1)
    assert float(orthogonality_loss(halves(0, 0, 1, 1), segments)) == pytest.approx(0, abs=1e-5)
    by_hand = ((1 - 0.5**0.5) ** 2 + 0.5) ** 0.5
    loss = orthogonality_loss(halves(0, 0, 0, 0), segments)
    assert float(loss) == pytest.approx(by_hand)


def test_one_cluster_has_finite_gradients() -> None:
    """The orthogonality loss is 0 there, and a root has no derivative at 0."""
    batch = random_batch([4, 1], 3)
    pool = MinCutPool(3, 3, num_clusters=1).double()
    pooled = pool(batch.x, batch.edge_index, batch.batch, batch_size=2)
    sum(pooled.losses.values()).backward()
    assert all(p.grad.isfinite().all() for p in pool.parameters())


def test_agrees_with_pyg_graph_by_graph() -> None:
    batch = random_batch([7, 5, 9], 5, seed=1, density=0.6)
    torch.manual_seed(0)
    pool = MinCutPool(5, 5, num_clusters=3).double()
    pooled = pool(batch.x, batch.edge_index, batch.batch, batch_size=batch.size)
    losses = torch.zeros(2, dtype=torch.float64)
    for b in range(batch.size):
        one = batch.alone(b)
        x, a, cut, ortho = dense_mincut_pool(
            one.x, torch.from_numpy(one.dense()), pool.assign(one.x)
        )
        torch.testing.assert_close(pooled.x[b], x[0])
        # PyG adds 1e-15 to the root of the degree where we test for 0.
        torch.testing.assert_close(pooled.edges.blocks[b], a[0], atol=1e-10, rtol=1e-8)
        losses += torch.stack([cut, ortho]).detach() / batch.size
    ours = torch.stack([pooled.losses["cut"], pooled.losses["orthogonality"]]).detach()
    torch.testing.assert_close(ours, losses)


def test_a_graph_without_edges_is_finite_where_pyg_is_not() -> None:
    s = torch.randn(3, 2, dtype=torch.float64)
    *_, cut, _ = dense_mincut_pool(torch.randn(3, 2).double(), torch.zeros(3, 3).double(), s)
    assert cut.isnan()  # its issue 3032, still there
    pool = MinCutPool(2, 2, num_clusters=2).double()
    nothing = torch.zeros(2, 0, dtype=torch.long)
    pooled = pool(torch.randn(3, 2).double(), nothing)
    assert float(pooled.losses["cut"].detach()) == 0
    assert pooled.edges.blocks.eq(0).all()


def test_the_coarse_graph_can_keep_its_diagonal() -> None:
    batch = random_batch([6], 4)
    torch.manual_seed(0)
    pool = MinCutPool(4, 4, num_clusters=2, normalise=False).double()
    pooled = pool(batch.x, batch.edge_index)
    s = pooled.assignment
    torch.testing.assert_close(pooled.edges.blocks[0], s.t() @ torch.from_numpy(batch.dense()) @ s)
    assert normalised(pooled.edges.blocks).diagonal(dim1=1, dim2=2).eq(0).all()


def test_a_cluster_that_has_all_but_vanished_has_finite_gradients() -> None:
    """Such as training for the adjacency makes: degrees of 1e-26 in float32."""
    scores = torch.zeros(6, 3)
    scores[:, 2] = -60.0
    scores.requires_grad_()
    s = scores.softmax(1)
    ring = torch.roll(torch.eye(6), 1, 0) + torch.roll(torch.eye(6), -1, 0)
    a = normalised((s.t() @ ring @ s)[None])
    assert a[0, 2].eq(0).all()
    a.square().sum().backward()
    assert scores.grad.isfinite().all()
