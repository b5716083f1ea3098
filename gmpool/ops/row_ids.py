"""The row of each entry of a sparse matrix, and orders of entries whose rows are known."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gmpool.ops import onnx_forms
from gmpool.ops.replicas import lead, union_ptr
from gmpool.ops.without_dispatcher import only_values


def stable_order(rows: Tensor, num_rows: int) -> Tensor:
    """argsort of numbers below num_rows, in half the time where 32 bits hold them; in a tenth where
    16 do, on a CPU, by counting. An exported program, which may know no bound, takes them as they
    are."""
    if onnx_forms.are_wanted():
        return onnx_forms.sorting(rows)
    if rows.is_cpu and only_values(rows) and num_rows <= 2**16:
        return torch.from_numpy(np.argsort(rows.numpy().astype(np.uint16), kind="stable"))
    short = not torch.compiler.is_compiling() and num_rows < 2**31
    return torch.argsort(rows.int() if short else rows, stable=True)


def inverse(permutation: Tensor) -> Tensor:
    """Where each place went. [n] -> [n]"""
    permutation = permutation.long()
    place = torch.arange(permutation.shape[0], device=permutation.device)
    return torch.zeros_like(permutation).scatter(0, permutation, place)


def row_ids(rowptr: Tensor, num_entries: int) -> Tensor:
    """Row i rowptr[i+1] - rowptr[i] times. [M+1] -> [num_entries]"""
    ids = onnx_forms.row_ids if onnx_forms.are_wanted() else _row_ids
    return ids(rowptr, num_entries)


@torch.library.custom_op("gmpool::row_ids", mutates_args=())
def _row_ids(rowptr: Tensor, num_entries: int) -> Tensor:
    # Told how many there will be, torch does not read the counts back from a device.
    return torch.repeat_interleave((rowptr[1:] - rowptr[:-1]).long(), output_size=num_entries)


@_row_ids.register_fake
def _(rowptr: Tensor, num_entries: int) -> Tensor:
    return rowptr.new_empty(num_entries, dtype=torch.long)


@_row_ids.register_vmap
def _(info: Any, in_dims: Any, rowptr: Tensor, num_entries: int) -> tuple[Tensor, int]:
    R = info.batch_size
    M = lead(rowptr, in_dims[0], R).shape[1] - 1
    ids = _row_ids(union_ptr(rowptr, in_dims[0], R, num_entries), R * num_entries)
    first = M * torch.arange(R, device=rowptr.device)
    return ids.view(R, num_entries) - first[:, None], 0
