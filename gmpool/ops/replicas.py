"""How an operator gains a replica axis: R ragged batches become one disjoint union.

Each custom operator's vmap rule is written with these functions alone. `dim` is the batched
dimension that vmap reports, or None when the R replicas share the tensor.

The operators of a step read the same few index tensors again and again: the union of each is made
once, and forgotten with the tensor that it was made of.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from gmpool.errors import UserError

_made: WeakIdKeyDictionary = WeakIdKeyDictionary()
"""Of each index tensor its version, and what was made of it, by how it was made."""


def once(ids: Tensor, how: tuple[object, ...], make: Callable[[], Tensor]) -> Tensor:
    """What `make` makes of an index tensor in the way `how`; made anew when the tensor changed."""
    if ids.is_inference():  # then nobody counts its changes
        return make()
    version, known = _made.get(ids, (None, {}))
    if version != ids._version:
        _made[ids] = ids._version, (known := {})
    if how not in known:
        known[how] = make()
    made: Tensor = known[how]
    return made


def lead(t: Tensor, dim: int | None, R: int) -> Tensor:
    """The tensor with its replica axis first; a shared tensor is expanded. [R, ...]"""
    return t.expand(R, *t.shape) if dim is None else t.movedim(dim, 0)


def flat(t: Tensor, dim: int | None, R: int) -> Tensor:
    """Rows of all replicas one after the other. [R·n, ...]"""
    return lead(t, dim, R).flatten(0, 1)


def shifted(ids: Tensor, dim: int | None, R: int, step: int) -> Tensor:
    """Ids into a union: replica r's are moved up by r·step. [R·n]"""
    return once(ids, ("ids", dim, R, step), lambda: _moved_up(lead(ids, dim, R), step).flatten())


def union_ptr(ptr: Tensor, dim: int | None, R: int, total: int) -> Tensor:
    """Offsets of a union of R rows of offsets that each end at `total`. [R·m + 1]"""

    def make() -> Tensor:
        starts = _moved_up(lead(ptr, dim, R)[:, :-1], total).flatten()
        return torch.cat([starts, starts.new_full((1,), R * total)])

    return once(ptr, ("ptr", dim, R, total), make)


def union_index(R: int, dims: Any, N: int, B: int, index: Any) -> tuple[Tensor, Tensor, Tensor]:
    """(batch, order, ptr) of the disjoint union of R batches with N nodes and B graphs each."""
    batch, order, ptr = index
    return (
        shifted(batch, dims[0], R, B),
        shifted(order, dims[1], R, N),
        union_ptr(ptr, dims[2], R, N),
    )


def _moved_up(ids: Tensor, step: int) -> Tensor:
    """ids [R, n], row r moved up by r·step."""
    most = torch.iinfo(ids.dtype).max
    if ids.shape[0] * step > most + 1:
        raise UserError(
            f"{ids.shape[0]} runs with {step} rows each are more than {most}, the most that one "
            f"program can number; stack fewer with --replicas"
        )
    return ids + step * torch.arange(ids.shape[0], device=ids.device, dtype=ids.dtype)[:, None]
