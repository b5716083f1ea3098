"""Which implementation of an operator serves a tensor: asked here, and nowhere else.

An operator with kernels is a package with two modules that hold the same functions: pytorch.py, by
PyTorch's operators, and triton.py. Triton is optional, and imported when it first serves.
"""

import functools
import importlib
import importlib.util
import os
from types import ModuleType

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


def triton_serves(t: Tensor) -> bool:
    """Whether kernels can run on this tensor. Float64 keeps to PyTorch's operators."""
    if t.dtype not in DTYPES or not HAS_TRITON:
        return False
    if t.is_cuda:
        return _capable(t.device)
    return INTERPRET and t.device.type == "cpu" and os.environ.get("TRITON_INTERPRET") == "1"


def serving(t: Tensor, operator: str) -> ModuleType:
    """The module of an operator's package that computes it on this tensor."""
    return implementation(operator, "triton" if triton_serves(t) else "pytorch")


@functools.cache
def implementation(operator: str, name: str) -> ModuleType:
    """The module gmpool.ops.<operator>.<name>, imported when it is first asked for."""
    return importlib.import_module(f"gmpool.ops.{operator}.{name}")


@functools.cache
def _capable(device: torch.device) -> bool:
    """tf32 products came with compute capability 8.0; ROCm calls itself cuda, too."""
    return torch.version.hip is None and torch.cuda.get_device_capability(device) >= (8, 0)
