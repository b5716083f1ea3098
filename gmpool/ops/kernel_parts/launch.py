"""How kernels are launched: how many programs fill the device, how wide their blocks are, and how
they multiply.

Grids come from shapes alone, and nobody asks the device for a value, so that kernels can be part of
a CUDA graph.
"""

# Triton is an optional package without types.
# mypy: disable-error-code="import-untyped, import-not-found"
from __future__ import annotations

import contextlib
import functools

import torch
import triton
from torch import Tensor

# So few that small inputs are cut between programs too.
INTERPRETED_PROGRAMS = 5
MIN_BLOCK = 16  # a product of tiles needs so many of each


@functools.cache
def _multiprocessors(device: torch.device) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count


def num_programs(device: torch.device, per_multiprocessor: int) -> int:
    """How many programs the device holds at once."""
    if device.type != "cuda":
        return INTERPRETED_PROGRAMS
    return per_multiprocessor * _multiprocessors(device)


def block_of(size: int, most: int) -> int:
    """How many columns, or the like, a program takes of so many."""
    return max(MIN_BLOCK, min(triton.next_power_of_2(size), most))


def precision(dtype: torch.dtype) -> str:
    """How products of tiles are formed: float32 as three tf32 products unless tf32 is allowed.

    Half-precision numbers are tf32 numbers: nothing is lost with them.
    """
    once = dtype != torch.float32 or torch.backends.cuda.matmul.allow_tf32
    return "tf32" if once else "tf32x3"


def rowwise(z: Tensor) -> Tensor:
    """Rows whose numbers lie side by side, as kernels read them."""
    return z if z.stride(1) == 1 else z.contiguous()


def on_device(t: Tensor) -> contextlib.AbstractContextManager[object]:
    """Triton launches on the current device: make it that of the tensor."""
    return torch.cuda.device(t.device) if t.is_cuda else contextlib.nullcontext()
