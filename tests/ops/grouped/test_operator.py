"""collect, spread and match: both paths against the one-hot references."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from gmpool.ops.grouped import collect, match, spread
from gmpool.ops.grouped import pytorch as by_pytorch
from gmpool.ops.grouped.reference import collect_reference, match_reference, spread_reference
from gmpool.ops.segment import Segments

UNSORTED = torch.tensor([2, 0, 0, 2, 4, 2, 0])
SORTED = UNSORTED.sort().values
H, K, D = 2, 3, 5


@pytest.fixture(params=["embedding_bag", "matrix products"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both paths on the same small input, whatever the count of operations says."""
    monkeypatch.setattr(
        by_pytorch, "LARGE_GRAPH", 10**12 if request.param == "embedding_bag" else 0
    )
    return request.param


def inputs(batch: torch.Tensor) -> tuple[Segments, torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    segments = Segments.from_batch(batch, len(batch), None, 6)
    a, z, o = (
        torch.randn(*shape, dtype=torch.float64, requires_grad=True)
        for shape in ((len(batch), H, K), (len(batch), D), (H, 6, K, D))
    )
    return segments, a, z, o


@pytest.mark.parametrize("batch", [SORTED, UNSORTED], ids=["sorted", "unsorted"])
def test_values_equal_the_reference(path: str, batch: torch.Tensor) -> None:
    segments, a, z, o = inputs(batch)
    pairs = [
        (collect(a, z, segments), collect_reference(a, z, segments)),
        (spread(a, o, segments), spread_reference(a, o, segments)),
        (match(z, o, segments), match_reference(z, o, segments)),
    ]
    for fast, slow in pairs:
        torch.testing.assert_close(fast, slow, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("batch", [SORTED, UNSORTED], ids=["sorted", "unsorted"])
def test_derivatives_of_both_orders(path: str, batch: torch.Tensor) -> None:
    segments, a, z, o = inputs(batch)
    for f, pair in ((collect, (a, z)), (spread, (a, o)), (match, (z, o))):
        assert gradcheck(lambda p, q, f=f: f(p, q, segments), pair)
        assert gradgradcheck(lambda p, q, f=f: f(p, q, segments), pair)


def test_replicas_are_a_disjoint_union(path: str) -> None:
    torch.manual_seed(0)
    R, N, B = 3, 7, 6
    a, z, o = torch.randn(R, N, H, K), torch.randn(R, N, D), torch.randn(R, H, B, K, D)
    batches = torch.randint(0, B, (R, N))

    def run(f: object, p: torch.Tensor, q: torch.Tensor, batch: torch.Tensor) -> torch.Tensor:
        return f(p, q, Segments.from_batch(batch, N, None, B))  # type: ignore[operator]

    for f, p, q in ((collect, a, z), (spread, a, o), (match, z, o)):
        stacked = torch.vmap(lambda p, q, b, f=f: run(f, p, q, b))(p, q, batches)
        alone = torch.stack([run(f, *parts) for parts in zip(p, q, batches, strict=True)])
        torch.testing.assert_close(stacked, alone)
        shared = torch.vmap(lambda p, q, f=f: run(f, p, q, UNSORTED), in_dims=(0, None))(p, q[0])
        alone = torch.stack([run(f, part, q[0], UNSORTED) for part in p])
        torch.testing.assert_close(shared, alone)


def test_no_nodes(path: str) -> None:
    segments = Segments.from_batch(torch.empty(0, dtype=torch.long), 0, None, 2)
    empty = torch.randn(0, H, K)
    assert torch.equal(collect(empty, torch.randn(0, D), segments), torch.zeros(H, 2, K, D))
    assert spread(empty, torch.randn(H, 2, K, D), segments).shape == (0, D)
    assert match(torch.randn(0, D), torch.randn(H, 2, K, D), segments).shape == (0, H, K)
