"""Unpooling and the error of A against dense matrices, in values and gradients."""

from __future__ import annotations

import pytest
import torch
from graphs import Batch, random_batch
from torch import Tensor

from gmpool.errors import UserError
from gmpool.graph.edges import Edges
from gmpool.ops.segment import Segments
from gmpool.pool.method import GraphSizes
from gmpool.tasks.reconstruct.compress import (
    COMPRESSIONS,
    Clusters,
    Kept,
    compression_options,
    make_compression,
)
from gmpool.tasks.reconstruct.settings import AutoencoderConfig

SIZES = [5, 1, 8, 0, 3]
K, D = 3, 6


def parts(batch: Batch) -> tuple[Edges, Segments]:
    edges = Edges.of(batch.edge_index, len(batch.x), batch.x.dtype, batch.weight)
    return edges, Segments.from_batch(batch.batch, len(batch.x), batch.x.device, batch.size)


def dense_errors(batch: Batch, rebuilt: list[Tensor]) -> Tensor:
    """Mean of (A − A_rec)² of each graph, from matrices [n, n]."""
    a = torch.from_numpy(batch.dense())
    errors = []
    for b, a_rec in enumerate(rebuilt):
        mine = (batch.batch == b).nonzero()[:, 0]
        difference = a[mine][:, mine] - a_rec
        errors.append(difference.square().mean() if len(mine) else difference.sum())
    return torch.stack(errors)


@pytest.mark.parametrize("blocks_given", [True, False], ids=["its own A_pool", "CᵀAC"])
@pytest.mark.parametrize("kind", ["plain", "weighted", "directed"])
def test_the_error_of_a_is_that_of_dense_matrices(kind: str, blocks_given: bool) -> None:
    batch = random_batch(SIZES, D, weighted=kind == "weighted", directed=kind == "directed")
    edges, segments = parts(batch)
    generator = torch.Generator().manual_seed(1)
    n, B = len(batch.x), batch.size
    c = torch.randn(n, K, generator=generator, dtype=torch.float64).softmax(1).requires_grad_()
    p = torch.rand(B, K, K, generator=generator, dtype=torch.float64).requires_grad_()
    rows = torch.zeros(B, K, D, dtype=torch.float64)
    weight = torch.rand(B, generator=generator, dtype=torch.float64)
    inputs = [c, p] if blocks_given else [c]

    errors = Clusters(rows, c, p if blocks_given else None).adjacency_errors(edges, segments)
    grads = torch.autograd.grad((errors * weight).sum(), inputs)

    a, rebuilt = torch.from_numpy(batch.dense()), []
    for b in range(B):
        mine = (batch.batch == b).nonzero()[:, 0]
        own = c[mine].t() @ a[mine][:, mine] @ c[mine]
        rebuilt.append(c[mine] @ (p[b] if blocks_given else own) @ c[mine].t())
    expected = dense_errors(batch, rebuilt)
    torch.testing.assert_close(errors, expected)
    torch.testing.assert_close(grads, torch.autograd.grad((expected * weight).sum(), inputs))


def test_unpooling_by_the_assignment() -> None:
    batch = random_batch(SIZES, D)
    _, segments = parts(batch)
    generator = torch.Generator().manual_seed(2)
    c = torch.rand(len(batch.x), K, generator=generator, dtype=torch.float64, requires_grad=True)
    rows = torch.randn(batch.size, K, D, generator=generator, dtype=torch.float64)
    rows.requires_grad_()
    out = Clusters(rows, c).unpool(segments)
    expected = torch.einsum("nk,nkd->nd", c, rows[batch.batch])
    assert out.shape == (len(batch.x), D)
    torch.testing.assert_close(out, expected)
    weight = torch.randn(out.shape, generator=generator, dtype=torch.float64)
    found = torch.autograd.grad((out * weight).sum(), [c, rows])
    torch.testing.assert_close(found, torch.autograd.grad((expected * weight).sum(), [c, rows]))


@pytest.mark.parametrize("weighted", [False, True])
def test_kept_rows_go_back_to_their_places(weighted: bool) -> None:
    batch = random_batch(SIZES, D, weighted=weighted)
    edges, segments = parts(batch)
    kept = torch.tensor([0, 3, 5, 7, 9, 12, 16])
    rows = torch.randn(len(kept), D, dtype=torch.float64, requires_grad=True)
    compressed = Kept(rows, kept)
    out = compressed.unpool(segments)
    assert torch.equal(out[kept], rows)
    others = [i for i in range(len(batch.x)) if i not in kept]
    assert out[others].eq(0).all()
    (grad,) = torch.autograd.grad(out.sum(), rows)
    assert grad.eq(1).all()

    stays = torch.zeros(len(batch.x), dtype=torch.float64)
    stays[kept] = 1
    part = torch.from_numpy(batch.dense()) * stays[:, None] * stays
    rebuilt = [part[batch.batch == b][:, batch.batch == b] for b in range(batch.size)]
    errors = compressed.adjacency_errors(edges, segments)
    torch.testing.assert_close(errors, dense_errors(batch, rebuilt))


@pytest.mark.parametrize("method", COMPRESSIONS)
def test_shapes_of_every_method_and_finite_gradients(method: str) -> None:
    batch = random_batch([5, 1, 8, 3], D)
    edges, segments = parts(batch)
    config = AutoencoderConfig(method=method, hidden_dim=D, ratio=0.5)
    compression = make_compression(config, GraphSizes(5.0)).double()
    x = batch.x.requires_grad_()
    compressed = compression(x, edges, segments, torch.arange(4))
    out = compressed.unpool(segments)
    assert out.shape == x.shape
    if isinstance(compressed, Clusters):
        assert compressed.rows.shape == (4, 3, D)
        torch.testing.assert_close(compressed.assignment.sum(1), torch.ones(17).double())
    else:
        assert compressed.rows.shape == (3 + 1 + 4 + 2, D)
    assert compressed.adjacency_errors(edges, segments).shape == (4,)
    (out.square().sum() + sum(compressed.losses.values())).backward()
    grads = [x.grad, *(p.grad for p in compression.parameters())]
    assert all(g is not None and g.isfinite().all() for g in grads), "every weight has its part"


def test_mincut_can_leave_its_adjacency_as_it_is() -> None:
    batch = random_batch([6, 4], D)
    edges, segments = parts(batch)
    torch.manual_seed(0)
    config = AutoencoderConfig(method="mincut", hidden_dim=D, pool={"normalise": False})
    as_it_is = make_compression(config, GraphSizes(5.0)).double()(batch.x, edges, segments, None)
    torch.testing.assert_close(
        as_it_is.blocks, edges.coarsened(as_it_is.assignment, segments).blocks
    )


def test_options_that_have_no_meaning_are_refused() -> None:
    assert "layer_norm" in compression_options("gmt")
    assert compression_options("random") == {}
    for method, key in (("gmt", "num_heads"), ("structpool", "readout"), ("diffpool", "ratio")):
        config = AutoencoderConfig(method=method, pool={key: 1})
        with pytest.raises(UserError, match=f"unknown option of {method} in a recons.*'{key}'"):
            make_compression(config, GraphSizes(5.0))
    with pytest.raises(UserError, match="unknown method that reconstructs 'mean'"):
        compression_options("mean")
