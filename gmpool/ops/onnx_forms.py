"""The operators once more, of such of PyTorch's as ONNX has too: what an exported model is made of.

They follow the definitions and are not fast: entries are gathered, multiplied and added up.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def are_wanted() -> bool:
    """Whether a model is being exported to ONNX. The first question is the cheap one."""
    return torch.compiler.is_compiling() and torch.onnx.is_in_onnx_export()


def row_ids(rowptr: Tensor, num_entries: int) -> Tensor:
    """How many rows have ended before each entry. [M+1] -> [E]"""
    ended = rowptr.new_zeros(num_entries + 1)  # the last place is of the rows that end with E
    return ended.index_add(0, rowptr[1:], torch.ones_like(rowptr[1:])).cumsum(0)[:num_entries]


def sort_by_graph(batch: Tensor, num_graphs: int) -> tuple[Tensor, Tensor]:
    counts = batch.new_zeros(num_graphs + 1).index_add(0, batch + 1, torch.ones_like(batch))
    return sorting(batch), counts.cumsum(0)


def sorting(ids: Tensor) -> Tensor:
    """Which sorts them; ONNX's is stable. [n] -> [n]"""
    return ids.sort().indices


def segment_max(x: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    none = x.new_full((ptr.shape[0] - 1, x.shape[1]), float("-inf"))
    top = none.scatter_reduce(0, batch[:, None].expand_as(x), x, "amax")
    return torch.where((ptr[1:] == ptr[:-1])[:, None], 0.0, top)


def spmm(x: Tensor, weight: Tensor | None, rowptr: Tensor, col: Tensor, *rest: Any) -> Tensor:
    entries = x.index_select(0, col)
    entries = entries if weight is None else weight.to(x.dtype)[:, None] * entries
    return _sums(entries, row_ids(rowptr, col.shape[0]), rowptr.shape[0] - 1)


def sddmm(a: Tensor, b: Tensor, rowptr: Tensor, col: Tensor, *rest: Any) -> Tensor:
    rows = row_ids(rowptr, col.shape[0])
    return (a.index_select(0, rows) * b.index_select(0, col)).sum(1)


def collect(a: Tensor, z: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    parts = a[:, :, :, None] * z[:, None, None, :]  # [N, H, K, D]
    return _sums(parts, batch, ptr.shape[0] - 1).transpose(0, 1)


def spread(a: Tensor, o: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    return (a.transpose(0, 1)[..., None] * o.index_select(1, batch)).sum((0, 2))


def match(z: Tensor, o: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    return (z[:, None] * o.index_select(1, batch)).sum(3).transpose(0, 1)


def seed_attention(
    z: Tensor, m: Tensor, c: Tensor, batch: Tensor, order: Tensor, ptr: Tensor,
    num_heads: int, axis: str, want_a: bool, path: str, *more: Tensor,
) -> list[Tensor]:  # fmt: skip
    B, blocks = ptr.shape[0] - 1, [z, *more]
    scores = (torch.cat(blocks, dim=1) @ m[0] + c[0]).unflatten(1, (num_heads, -1))  # [N, H, K]
    if axis == "seeds":
        a = scores.softmax(2)
    else:
        flat = scores.flatten(1)
        top = segment_max(flat, batch, order, ptr).index_select(0, batch)
        e = (flat - top).exp()
        a = (e / _sums(e, batch, B).index_select(0, batch)).view_as(scores)
    pooled = [collect(a, block, batch, order, ptr) for block in blocks]
    return [*pooled, _sums(a, batch, B).transpose(0, 1), a, a[:0, :, 0]]


def row_attention(q: Tensor, k: Tensor, v: Tensor, batch: Tensor, axis: str) -> Tensor:
    """The rows of each graph to each other, as all pairs of rows: [N, H, d] each -> [N, D]"""
    q, k, v = (t.transpose(0, 1) for t in (q, k, v))  # [H, N, d]
    scores = (q @ k.mT).masked_fill(batch[:, None] != batch, float("-inf"))  # [H, N, N]
    a = scores.softmax(1 if axis == "seeds" else 2)
    return (a @ v).transpose(0, 1).flatten(1)


def _sums(rows: Tensor, ids: Tensor, number: int) -> Tensor:
    """Sums of the rows with the same id. [n, ...] -> [number, ...]"""
    return rows.new_zeros(number, *rows.shape[1:]).index_add(0, ids, rows)
