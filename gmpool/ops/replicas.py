"""How an operator gains a replica axis: R ragged batches become one disjoint union.

Each custom operator's vmap rule is written with these four functions alone. `dim` is the batched
dimension that vmap reports, or None when the R replicas share the tensor.
"""

from __future__ import annotations

import torch
from torch import Tensor


def lead(t: Tensor, dim: int | None, R: int) -> Tensor:
    """The tensor with its replica axis first; a shared tensor is expanded. [R, ...]"""
    return t.expand(R, *t.shape) if dim is None else t.movedim(dim, 0)


def flat(t: Tensor, dim: int | None, R: int) -> Tensor:
    """Rows of all replicas one after the other. [R·n, ...]"""
    return lead(t, dim, R).flatten(0, 1)


def shifted(ids: Tensor, dim: int | None, R: int, step: int) -> Tensor:
    """Ids into a union: replica r's are moved up by r·step. [R·n]"""
    offset = step * torch.arange(R, device=ids.device, dtype=ids.dtype)
    return (lead(ids, dim, R) + offset[:, None]).flatten()


def union_ptr(ptr: Tensor, dim: int | None, R: int, total: int) -> Tensor:
    """Offsets of a union of R rows of offsets that each end at `total`. [R·m + 1]"""
    starts = shifted(lead(ptr, dim, R)[:, :-1], 0, R, total)
    return torch.cat([starts, starts.new_full((1,), R * total)])
