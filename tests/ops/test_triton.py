"""The Triton kernels against the references: interpreted on the CPU, compiled where there is a GPU.

Memory is poisoned before every kernel, and errors are held against those of plain PyTorch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from gmpool import GraphMultisetTransformer
from gmpool.ops import gpu
from gmpool.ops.fused_attention import heads_at_once
from gmpool.ops.grouped import (
    collect,
    collect_reference,
    match,
    match_reference,
    spread,
    spread_reference,
)
from gmpool.ops.seed_attention import seed_attention, seed_attention_reference
from gmpool.ops.segment import Segments
from gmpool.ops.sparse import Pattern, spmm, spmm_reference

pytest.importorskip("triton")
# Of the norm: a sum of few terms sets no standard. Products of tiles are three tf32 ones, good to
# 1e-6; seed attention is several of them in a row.
FLOOR, PRODUCTS, ATTENTION = 2e-7, 1e-6, 4e-6
MANY, ONE, HOLES = [3, 39, 1, 70], [330], [0, 0, 130, 64, 0, 63, 65, 1, 0]
AXES = pytest.mark.parametrize("axis", ["seeds", "nodes"])
CUDA = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]


def _poisoned(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def run(*args: Any, **options: Any) -> Tensor:
        t = make(*args, **options)
        return t.fill_(float("nan") if t.is_floating_point() else -1)

    return run


@pytest.fixture(params=["interpreter", pytest.param("cuda", marks=CUDA)], autouse=True)
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(torch, "empty", _poisoned(torch.empty))
    monkeypatch.setattr(torch.Tensor, "new_empty", _poisoned(torch.Tensor.new_empty))
    if request.param == "cuda":
        yield "cuda"
        return
    if os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("kernels are compiled in this process")
    from triton.runtime import interpreter

    patch = interpreter._patch_lang_tensor

    def patch_for_numpy(tensor: Any, scope: Any) -> None:
        """Triton 3.6 makes an int of an array with one entry, which numpy 2.4 no longer does."""
        patch(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: self.handle.data.item())

    monkeypatch.setattr(interpreter, "_patch_lang_tensor", patch_for_numpy)
    monkeypatch.setattr(gpu, "INTERPRET", True)
    yield "cpu"


def assert_as_exact(ours: Any, plain: Any, exact: Any, floor: float = FLOOR) -> None:
    """At most twice the error of plain PyTorch at the same precision."""
    for a, b, c in zip(ours, plain, exact, strict=True):
        if a.dtype != torch.float32 and not a.is_cuda:
            floor = torch.finfo(a.dtype).eps / 2  # the interpreter cuts off where a GPU rounds
        a, b, c = (t.detach().double().cpu() for t in (a, b, c))
        assert a.isfinite().all()
        assert (a - c).norm() <= 2 * (b - c).norm() + floor * (c.norm() + c.numel() ** 0.5)


def low_and_exact(
    shapes: list[tuple[int, ...]], dtype: torch.dtype, device: str
) -> tuple[list[Tensor], list[Tensor]]:
    """Random tensors of a precision, and the same numbers in float64."""
    torch.manual_seed(0)
    low = [torch.randn(s).to(dtype).to(device).requires_grad_() for s in shapes]
    return low, [t.detach().double().requires_grad_() for t in low]


def with_gradients(outputs: Any, inputs: list[Tensor]) -> list[Tensor]:
    """The outputs, and the gradients of a fixed weighting of them."""
    torch.manual_seed(1)
    probes = [torch.randn(o.shape).to(o.device, o.dtype) for o in outputs]
    loss = sum((o * p).sum() for o, p in zip(outputs, probes, strict=True))
    return [*outputs, *torch.autograd.grad(loss, inputs)]


def batch_of(sizes: list[int], device: str, shuffle: bool = True) -> Segments:
    torch.manual_seed(2)
    batch = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    batch = batch[torch.randperm(len(batch))] if shuffle else batch
    return Segments.from_batch(batch.to(device), len(batch), None, len(sizes))


def pattern_of(degrees: list[int], columns: int, index: torch.dtype, device: str) -> Pattern:
    torch.manual_seed(3)
    counts = torch.tensor(degrees)
    row = torch.repeat_interleave(torch.arange(len(degrees)), counts)
    col = torch.randint(columns, (len(row),))
    to_t = torch.argsort(col, stable=True)
    zero = torch.zeros(1, dtype=torch.long)
    ends = torch.cat([zero, counts.cumsum(0)])
    t_ends = torch.cat([zero, torch.bincount(col, minlength=columns).cumsum(0)])
    parts = (ends, col, t_ends, row[to_t], to_t, torch.argsort(to_t))
    return Pattern(*(t.to(index).to(device) for t in parts))


@pytest.mark.parametrize(
    ("degrees", "width", "dtype", "index"),
    [
        ([0, 5, 1, 9, 0, 2], 1, torch.float32, torch.int64),
        ([0, 5, 1, 9, 0, 2], 3, torch.float32, torch.int32),
        ([4] * 9, 63, torch.float32, torch.int64),
        ([4] * 9, 20, torch.bfloat16, torch.int64),
        ([2], 500, torch.float32, torch.int64),
        ([511, 0, 1030, 1024, 3, 512], 4, torch.float32, torch.int32),
        ([2000], 5, torch.float16, torch.int64),
    ],
)
@pytest.mark.parametrize("weighted", [True, False])
def test_spmm(
    degrees: list[int],
    width: int,
    dtype: torch.dtype,
    index: torch.dtype,
    weighted: bool,
    device: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from gmpool.ops import triton_spmm

    monkeypatch.setattr(triton_spmm, "SPLIT_ENTRIES", 0)
    monkeypatch.setattr(triton_spmm, "SPLIT_DEGREE", 64)
    columns = 7 + 2 * max(degrees)
    pattern = pattern_of(degrees, columns, index, device)
    low, exact = low_and_exact([(columns, width), (sum(degrees),)], dtype, device)

    def run(f: Callable[..., Tensor], x: Tensor, w: Tensor) -> list[Tensor]:
        return with_gradients([f(pattern, x, w.detach() if weighted else None)], [x])

    assert_as_exact(run(spmm, *low), run(spmm_reference, *low), run(spmm_reference, *exact))


@pytest.mark.parametrize(
    ("sizes", "H", "K", "width", "dtype"),
    [
        (MANY, 2, 3, 5, torch.float32),
        (ONE, 1, 1, 63, torch.float32),
        (HOLES, 1, 5, 3, torch.float32),
        (HOLES, 9, 8, 1, torch.float32),
        ([5, 1], 2, 20, 500, torch.float32),
        (MANY, 1, 4, 16, torch.bfloat16),
    ],
)
def test_collect_spread_and_match(
    sizes: list[int], H: int, K: int, width: int, dtype: torch.dtype, device: str
) -> None:
    segments, N = batch_of(sizes, device), sum(sizes)
    low, exact = low_and_exact([(N, H, K), (N, width), (H, len(sizes), K, width)], dtype, device)
    for op, reference, pick in (
        (collect, collect_reference, (0, 1)),
        (spread, spread_reference, (0, 2)),
        (match, match_reference, (1, 2)),
    ):

        def run(f: Any, tensors: list[Tensor], pick: tuple[int, int] = pick) -> list[Tensor]:
            pair = [tensors[i] for i in pick]
            return with_gradients([f(*pair, segments)], pair)

        assert_as_exact(run(op, low), run(reference, low), run(reference, exact), PRODUCTS)


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
        (HOLES, 2, 4, [130], torch.float32, True),
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
    fused = not want_a and heads_at_once([low[0]], H, H * K, axis)
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
    from gmpool.ops import triton_attention, triton_few_slots

    kernels: Any = triton_few_slots if K == 3 and axis == "seeds" else triton_attention

    R, N, B, D, H = 3, 80, 4, 10, 2
    low, exact = low_and_exact([(R, N, D), (R, D, H * K), (R, H * K)], torch.float32, device)
    batches = torch.randint(0, B, (R, N), generator=torch.Generator().manual_seed(0)).to(device)
    called = []
    forward = kernels.forward

    def counted(blocks: list[Tensor], m: Tensor, *rest: Any) -> Any:
        called.append(m.shape[0])
        return forward(blocks, m, *rest)

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
