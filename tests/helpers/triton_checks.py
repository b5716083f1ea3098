"""What the tests of Triton kernels share: interpreted on the CPU, compiled where there is a GPU.

Memory is poisoned before every kernel, and errors are held against those of plain PyTorch. A test
file takes part with `device = triton_checks.device`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from marks import CUDA
from torch import Tensor

from gmpool.ops import choice
from gmpool.ops.segment import Segments

# Of the norm: a sum of few terms sets no standard. Products of tiles are three tf32 ones, good to
# 1e-6.
FLOOR, PRODUCTS = 2e-7, 1e-6
MANY, ONE, HOLES = [3, 39, 1, 70], [330], [0, 0, 130, 64, 0, 63, 65, 1, 0]
"""Numbers of nodes of the graphs of a batch."""


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
    monkeypatch.setattr(choice, "INTERPRET", True)
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
