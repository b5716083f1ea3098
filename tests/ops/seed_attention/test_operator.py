"""The one operator under GMPool: reference, derivatives, precision, replicas, and what it costs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.autograd.graph import saved_tensors_hooks
from torch.profiler import ProfilerActivity, profile

from gmpool.ops import without_dispatcher
from gmpool.ops.grouped import pytorch as grouped
from gmpool.ops.seed_attention import operator, seed_attention
from gmpool.ops.seed_attention.reference import seed_attention_reference
from gmpool.ops.segment import Segments

BATCH = torch.tensor([2, 0, 0, 2, 4, 2, 0])
H, K, D = 2, 3, 5
AXES = pytest.mark.parametrize("axis", ["seeds", "nodes"])


@pytest.fixture(params=["embedding_bag", "matrix products"], autouse=True)
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(grouped, "LARGE_GRAPH", 10**12 if request.param == "embedding_bag" else 0)
    return request.param


def inputs(
    dtype: torch.dtype = torch.float64, heads: int = H, seeds: int = K
) -> tuple[Segments, tuple[torch.Tensor, ...]]:
    torch.manual_seed(0)
    segments = Segments.from_batch(BATCH, len(BATCH), None, 6)
    shapes = ((len(BATCH), D), (D, heads * seeds), (heads * seeds,))
    tensors = (torch.randn(*s, dtype=torch.float64).to(dtype).requires_grad_() for s in shapes)
    return segments, tuple(tensors)


def count_kernels(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list that grows when the kernel of the backward pass is called past the dispatcher."""
    called, kernel = [], operator._backward_values

    def counted(*args: object) -> list[torch.Tensor]:
        called.append("backward")
        return kernel(*args)

    monkeypatch.setattr(operator, "_backward_values", counted)
    return called


def whole(attend: Callable) -> Callable:
    """Z in, AᵀZ out, with Z cut into blocks of 2, 0 and the rest of its columns on the way."""

    def run(z: torch.Tensor, *rest: object) -> tuple[torch.Tensor, ...]:
        pooled, mass, a = attend(list(z.split([2, 0, z.shape[1] - 2], dim=1)), *rest)
        return torch.cat(pooled, dim=3), mass, a

    return run


@AXES
@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize("way", ["past the dispatcher", "operator"])
def test_values_and_gradients_equal_the_reference(
    axis: str, seeds: int, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = count_kernels(monkeypatch)
    if way == "operator":
        for module in (without_dispatcher, operator):
            monkeypatch.setattr(module, "only_values", lambda t: False)
    segments, tensors = inputs(seeds=seeds)
    reference = seed_attention_reference(*tensors, segments, H, axis)
    probes = [torch.randn_like(t) for t in reference]
    expected = torch.autograd.grad(reference, tensors, probes, retain_graph=True)
    found = whole(seed_attention)(*tensors, segments, H, axis)
    for a, b in zip(found, reference, strict=True):
        torch.testing.assert_close(a, b, atol=1e-12, rtol=1e-12)
    probed = sum((o * p).sum() for o, p in zip(found, probes, strict=True))
    grads = torch.autograd.grad(probed, tensors, allow_unused=True)
    for a, b in zip(grads, expected, strict=True):
        # One seed under a softmax over seeds: no score is differentiated.
        a = torch.zeros_like(b) if a is None else a
        torch.testing.assert_close(a, b, atol=1e-11, rtol=1e-11)
    scored = seeds > 1 or axis == "nodes"
    assert len(called) == int(scored and way != "operator")


@AXES
def test_derivatives_of_both_orders(axis: str) -> None:
    segments, tensors = inputs()
    assert gradcheck(lambda *t: whole(seed_attention)(*t, segments, H, axis), tensors)
    assert gradgradcheck(lambda *t: whole(seed_attention)(*t, segments, H, axis), tensors)


@AXES
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_error_is_that_of_plain_torch(axis: str, dtype: torch.dtype) -> None:
    segments, exact_inputs = inputs()
    _, low = inputs(dtype)
    exact = seed_attention_reference(*exact_inputs, segments, H, axis)
    plain = seed_attention_reference(*low, segments, H, axis)
    ours = whole(seed_attention)(*low, segments, H, axis)
    for a, b, c in zip(ours, plain, exact, strict=True):
        assert a.dtype == dtype
        assert (a - c).norm() <= 2 * (b - c).norm() + 1e-7


@AXES
def test_replicas(axis: str) -> None:
    """Each replica has rows, seeds and a batch vector of its own."""
    torch.manual_seed(0)
    R, N = 4, 7
    z, m, c = torch.randn(R, N, D), torch.randn(R, D, H * K), torch.randn(R, H * K)
    z.requires_grad_()
    m.requires_grad_()
    batches = torch.randint(0, 6, (R, N))

    def one(*args: torch.Tensor) -> tuple[torch.Tensor, ...]:
        *tensors, batch = args
        return whole(seed_attention)(*tensors, Segments.from_batch(batch, N, None, 6), H, axis)

    stacked = torch.vmap(one)(z, m, c, batches)
    each = [one(*p) for p in zip(z, m, c, batches, strict=True)]
    alone = [torch.stack(t) for t in zip(*each, strict=True)]
    probe = torch.randn_like(alone[0])
    for a, b in zip(stacked, alone, strict=True):
        torch.testing.assert_close(a, b, atol=1e-6, rtol=1e-5)
    found = torch.autograd.grad(stacked[0], (z, m), probe)
    expected = torch.autograd.grad(alone[0], (z, m), probe)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)


def saved_bytes(n: int, width: int, axis: str) -> int:
    """What is kept for the backward pass besides the inputs."""
    segments = Segments.from_batch(torch.zeros(n, dtype=torch.long), n, None, 1)
    z = torch.randn(n, width, requires_grad=True)
    m, c = torch.randn(width, H * K, requires_grad=True), torch.zeros(H * K)
    given = {t.data_ptr() for t in (z, m, c, segments.batch, segments.order, segments.ptr)}
    kept: dict[int, int] = {}

    def pack(t: torch.Tensor) -> torch.Tensor:
        if t.data_ptr() not in given:
            kept[t.data_ptr()] = t.untyped_storage().nbytes()
        return t

    with saved_tensors_hooks(pack, lambda t: t):
        seed_attention([z], m, c, segments, H, axis)
    return sum(kept.values())


@AXES
def test_what_is_kept_is_linear_in_n_and_free_of_the_width(axis: str) -> None:
    """Theorem 4: O(n·K), here exactly the assignment A and nothing else."""
    for n, width in ((100, 16), (200, 16), (100, 64)):
        assert saved_bytes(n, width, axis) == 4 * n * H * K


def allocated_bytes(sizes: list[int], axis: str) -> int:
    """Every allocation of a forward and backward pass, counted inside the operators too."""
    n = sum(sizes)
    batch = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    segments = Segments.from_batch(batch, n, None, len(sizes))
    z = torch.randn(n, 16, requires_grad=True)
    m, c = torch.randn(16, H * K, requires_grad=True), torch.zeros(H * K)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        seed_attention([z], m, c, segments, H, axis)[0][0].sum().backward()
    return sum(max(0, event.self_cpu_memory_usage) for event in recorded.key_averages())


@AXES
def test_allocations_are_linear_in_nodes_whatever_the_sizes(axis: str) -> None:
    """Nothing of size n·n or B·max n: twice the nodes cost at most twice, and one large graph
    among small ones costs what equal ones do."""
    even = allocated_bytes([20] * 20, axis)
    assert allocated_bytes([40] * 20, axis) <= 2.1 * even
    assert allocated_bytes([210] + [10] * 19, axis) <= 1.2 * even
