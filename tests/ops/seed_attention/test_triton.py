"""Triton's seed attention against the reference, alone and in the readout."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import triton_checks
from marks import CUDA
from torch import Tensor
from triton_checks import (
    HOLES,
    MANY,
    ONE,
    assert_as_exact,
    batch_of,
    low_and_exact,
    with_gradients,
)

from gmpool import GraphMultisetTransformer
from gmpool.nn import attention
from gmpool.ops.seed_attention import (
    choice,
    choose,
    seed_attention,
    seed_attention_through,
)
from gmpool.ops.seed_attention.choice import Call
from gmpool.ops.seed_attention.reference import seed_attention_reference
from gmpool.ops.segment import Segments

pytest.importorskip("triton")
device = triton_checks.device
ATTENTION = 4e-6
"""Several products in a row, each good to 1e-6."""
AXES = pytest.mark.parametrize("axis", ["seeds", "nodes"])


def attended(z: Tensor, *rest: Any, widths: list[int], **options: Any) -> tuple[Tensor, ...]:
    """As the reference has it: Z and Aᵀ Z in one piece."""
    pooled, mass, a = seed_attention(list(z.split(widths, dim=1)), *rest, **options)
    return torch.cat(pooled, dim=3), mass, a


@AXES
@pytest.mark.parametrize(
    ("sizes", "H", "K", "widths", "dtype", "want_a"),
    [
        (MANY, 2, 3, [2, 0, 3], torch.float32, True),
        (MANY, 2, 3, [2, 0, 3], torch.float32, False),
        (ONE, 1, 4, [63], torch.float32, False),
        (HOLES, 4, 5, [20, 20, 30], torch.float32, False),
        (HOLES, 1, 2, [1], torch.float32, True),
        pytest.param(HOLES, 2, 4, [130], torch.float32, True, marks=pytest.mark.slow),
        (MANY, 1, 5, [20, 128, 3], torch.float32, False),
        (MANY, 1, 40, [10], torch.float32, True),
        (MANY, 8, 9, [10], torch.float32, False),  # over seeds one head at a time
        (MANY, 1, 130, [10], torch.float32, False),  # too many slots to be fused
        ([3, 0], 1, 5, [500], torch.float32, False),
        (MANY, 2, 8, [16], torch.bfloat16, True),
    ],
)
def test_seed_attention(
    sizes: list[int],
    H: int,
    K: int,
    widths: list[int],
    dtype: torch.dtype,
    want_a: bool,
    axis: str,
    device: str,
) -> None:
    segments, D = batch_of(sizes, device), sum(widths)
    low, exact = low_and_exact([(sum(sizes), D), (D, H * K), (H * K,)], dtype, device)
    with torch.no_grad():
        for m in (low[1], exact[1]):
            m *= max(D, 1) ** -0.5
    outputs = slice(None) if want_a else slice(2)

    def plain(tensors: list[Tensor]) -> list[Tensor]:
        found = seed_attention_reference(*tensors, segments, H, axis)[outputs]
        return with_gradients(found, tensors)

    ours = attended(*low, segments, H, axis, widths=widths, want_a=want_a)
    fused = not want_a and choose([low[0]], H, H * K, axis).is_fused
    assert fused or want_a or K == 130 or (H * K == 72 and axis == "nodes")
    assert ours[2].shape[0] == (0 if fused else sum(sizes))
    found = with_gradients(ours[outputs], low)
    # ∂c over nodes is 0: what is left of it is rounding of the terms, some of them 10 apart.
    floor = ATTENTION if dtype == torch.float32 else 5e-2
    assert_as_exact(found, plain(low), plain(exact), floor)


@AXES
@pytest.mark.parametrize("K", [3, 5])
def test_replicas_are_one_call(
    K: int, axis: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gmpool.ops.seed_attention import few_slots_forward, tiles_forward

    kernels: Any = few_slots_forward if K == 3 and axis == "seeds" else tiles_forward

    R, N, B, D, H = 3, 80, 4, 10, 2
    low, exact = low_and_exact([(R, N, D), (R, D, H * K), (R, H * K)], torch.float32, device)
    batches = torch.randint(0, B, (R, N), generator=torch.Generator().manual_seed(0)).to(device)
    called = []
    forward = kernels.forward

    def counted(call: Call, want_a: bool) -> list[Tensor]:
        called.append(call.m.shape[0])
        return forward(call, want_a)

    monkeypatch.setattr(kernels, "forward", counted)

    def one(z: Tensor, m: Tensor, c: Tensor, batch: Tensor) -> tuple[Tensor, ...]:
        segments = Segments.from_batch(batch, N, None, B)
        return attended(z, m, c, segments, H, axis, widths=[4, 6], want_a=False)[:2]

    def alone(z: Tensor, m: Tensor, c: Tensor, batch: Tensor) -> tuple[Tensor, ...]:
        segments = Segments.from_batch(batch, N, None, B)
        return seed_attention_reference(z, m, c, segments, H, axis)[:2]

    def each(tensors: list[Tensor]) -> list[Tensor]:
        found = [alone(*parts) for parts in zip(*tensors, batches, strict=True)]
        return with_gradients([torch.stack(t) for t in zip(*found, strict=True)], tensors)

    found = with_gradients(torch.vmap(one)(*low, batches), low)
    assert called == [R]
    assert_as_exact(found, each(low), each(exact), ATTENTION)


@AXES
def test_two_runs_give_the_same_bits(axis: str, device: str) -> None:
    segments = batch_of(HOLES, device)
    low, _ = low_and_exact([(sum(HOLES), 10), (10, 6), (6,)], torch.float32, device)
    first, second = (
        with_gradients(attended(*low, segments, 2, axis, widths=[10]), low) for _ in range(2)
    )
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@AXES
def test_a_readout_and_its_gradient_penalty(axis: str, device: str) -> None:
    """Through every operator, and differentiated twice, against float64 on PyTorch's operators."""
    from graphs import random_batch

    batch = random_batch([30, 1, 0, 12], 8, weighted=True)
    torch.manual_seed(0)
    model = GraphMultisetTransformer(8, 8, num_seeds=3, num_heads=2, softmax=axis).to(device)
    found = []
    for dtype in (torch.float32, torch.float64):
        model.to(dtype)
        x, w = (t.to(dtype).to(device).requires_grad_() for t in (batch.x, batch.weight))
        edges, graph = batch.edge_index.to(device), batch.batch.to(device)
        out = model(x, edges, graph, batch.size, edge_weight=w)
        (grad,) = torch.autograd.grad(out.square().sum(), x, create_graph=True)
        found.append([out, grad, *torch.autograd.grad(grad.square().sum(), (x, w))])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a.double(), b, atol=1e-4, rtol=1e-4)


def test_few_nodes_are_propagated_and_many_are_not(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ways give one readout: that with fewer kernels, and that without Z in memory."""
    from graphs import random_batch

    batch, through = random_batch([30, 1, 0, 12], 16), []

    def noted(*args: Any) -> Any:
        through.append(True)
        return seed_attention_through(*args)

    monkeypatch.setattr(attention, "seed_attention_through", noted)
    torch.manual_seed(0)
    model = GraphMultisetTransformer(16, 16, num_seeds=3, num_heads=2).to(device)
    x, found = batch.x.to(device, torch.float32).requires_grad_(), []
    for few in (choice.FEW_NODES, 0):
        monkeypatch.setattr(choice, "FEW_NODES", few)
        out = model(x, batch.edge_index.to(device), batch.batch.to(device), batch.size)
        grads = torch.autograd.grad(out.square().sum(), (x, *model.parameters()), allow_unused=True)
        assert len(through) == (few == 0)
        found.append([out, *(g for g in grads if g is not None)])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)


def test_no_nodes(device: str) -> None:
    segments = Segments.from_batch(torch.empty(0, dtype=torch.long, device=device), 0, None, 2)
    z, m, c = (torch.randn(s, device=device) for s in ((0, 5), (5, 4), (4,)))
    for axis in ("seeds", "nodes"):
        pooled, mass, _ = seed_attention([z], m, c, segments, 2, axis)
        assert torch.equal(pooled[0], torch.zeros(2, 2, 2, 5, device=device))
        assert torch.equal(mass, torch.zeros(2, 2, 2, device=device))


@pytest.mark.parametrize("device", [pytest.param("cuda", marks=CUDA)], indirect=True)
@AXES
def test_kernels_can_be_captured(axis: str, device: str) -> None:
    """In a CUDA graph: nothing asks the device for a value, and sizes come from shapes alone."""
    segments = batch_of(HOLES, device, shuffle=False)
    other = batch_of(HOLES[::-1], device, shuffle=False)
    (z, m, c), _ = low_and_exact([(sum(HOLES), 10), (10, 6), (6,)], torch.float32, device)
    index = [t.clone() for t in (segments.batch, segments.order, segments.ptr)]

    def run(segments: Segments) -> list[Tensor]:
        leaves = [t.detach().requires_grad_() for t in (z, m, c)]
        outputs = attended(*leaves, segments, 2, axis, widths=[10], want_a=False)[:2]
        loss = outputs[0].square().sum() + outputs[1].square().sum()
        # Fresh leaves: those made before would bind the capture to the stream they were made on.
        return [*outputs, *torch.autograd.grad(loss, leaves)]

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        run(Segments(*index))
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = run(Segments(*index))
    for kept, new in zip(index, (other.batch, other.order, other.ptr), strict=True):
        kept.copy_(new)
    graph.replay()
    assert all(torch.equal(a, b) for a, b in zip(captured, run(other), strict=True))
