"""Where the Triton kernels run, how many programs fill the device, and how they multiply.

Triton is optional: the modules triton_*.py are imported by the operators when `usable` says so, and
everything they do has a path in plain PyTorch. Their grids come from shapes alone and they never
ask the device for a value, so that they can be part of a CUDA graph.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os

import torch
from torch import Tensor


def _has_triton() -> bool:
    try:
        return importlib.util.find_spec("triton") is not None
    except ModuleNotFoundError:
        return False


HAS_TRITON = _has_triton()
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
# Tests turn this on, and set TRITON_INTERPRET=1 before Triton is imported: the kernels then run on
# CPU tensors, one program after the other.
INTERPRET = False
# So few that small inputs are cut between programs too.
INTERPRETED_PROGRAMS = 5


def usable(t: Tensor) -> bool:
    """Whether kernels can run on this tensor. Float64 keeps to PyTorch's operators."""
    if t.dtype not in DTYPES or not HAS_TRITON:
        return False
    if t.is_cuda:
        return _capable(t.device)
    return INTERPRET and t.device.type == "cpu" and os.environ.get("TRITON_INTERPRET") == "1"


@functools.cache
def _capable(device: torch.device) -> bool:
    """tf32 products came with compute capability 8.0; ROCm calls itself cuda, too."""
    return torch.version.hip is None and torch.cuda.get_device_capability(device) >= (8, 0)


@functools.cache
def _multiprocessors(device: torch.device) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count


def num_programs(device: torch.device, per_multiprocessor: int) -> int:
    """How many programs the device holds at once."""
    if device.type != "cuda":
        return INTERPRETED_PROGRAMS
    return per_multiprocessor * _multiprocessors(device)


def precision(dtype: torch.dtype) -> str:
    """How products of tiles are formed: float32 as three tf32 products unless tf32 is allowed.

    Half-precision numbers are tf32 numbers: nothing is lost with them.
    """
    plain = dtype != torch.float32 or torch.backends.cuda.matmul.allow_tf32
    return "tf32" if plain else "tf32x3"


def on_device(t: Tensor) -> contextlib.AbstractContextManager[object]:
    """Triton launches on the current device: make it that of the tensor."""
    return torch.cuda.device(t.device) if t.is_cuda else contextlib.nullcontext()
