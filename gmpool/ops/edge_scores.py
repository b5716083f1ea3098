"""Scores of edges, made of scores of their ends and normalised per row: nothing is [E, D].

    sum_of_ends   s_e = a_i + b_j                    for e = (i, j)
    row_softmax   p_e = exp(s_e) / Σ_{e' in row i} exp(s_e')

A linear map of two ends' features side by side is such a sum: w · [x_i ‖ x_j] = w_1·x_i + w_2·x_j.
Derivatives are sums over rows of the matrix and of its transpose, so that nothing is scattered.
"""

from typing import Any

import torch
from torch import Tensor

from gmpool.ops.sparse import Pattern


def sum_of_ends(pattern: Pattern, a: Tensor, b: Tensor) -> Tensor:
    """a_i + b_j for each entry (i, j). a [M], b [N] -> [E]"""
    p = pattern
    assert p.to_t is not None
    return _sum_of_ends(a, b, p.rowptr, p.col, p.t_rowptr, p.to_t)


def row_softmax(pattern: Pattern, scores: Tensor) -> Tensor:
    """Softmax over the entries of each row. [E] -> [E]"""
    return _row_softmax(scores, pattern.rowptr)


def sum_of_ends_reference(pattern: Pattern, a: Tensor, b: Tensor) -> Tensor:
    """What sum_of_ends means."""
    return a[pattern.rows] + b[pattern.col.long()]


def row_softmax_reference(pattern: Pattern, scores: Tensor) -> Tensor:
    """What row_softmax means: a loop over rows."""
    sizes = (pattern.rowptr[1:] - pattern.rowptr[:-1]).tolist()
    return torch.cat([scores[:0], *(part.softmax(0) for part in scores.split(sizes))])


def _to_entries(values: Tensor, rowptr: Tensor, num_entries: int) -> Tensor:
    """[M] -> [E]"""
    return torch.repeat_interleave(values, rowptr[1:] - rowptr[:-1], output_size=num_entries)


def _to_rows(values: Tensor, rowptr: Tensor) -> Tensor:
    """Sums over rows. [E] -> [M]"""
    return torch.segment_reduce(values, "sum", offsets=rowptr.long(), initial=0.0)


@torch.library.custom_op("gmpool::sum_of_ends", mutates_args=())
def _sum_of_ends(
    a: Tensor, b: Tensor, rowptr: Tensor, col: Tensor, t_rowptr: Tensor, to_t: Tensor
) -> Tensor:
    return _to_entries(a.detach(), rowptr, col.shape[0]) + b.detach().index_select(0, col)


@_sum_of_ends.register_fake
def _(a: Tensor, b: Tensor, rowptr: Tensor, col: Tensor, *rest: Any) -> Tensor:
    return a.new_empty(col.shape[0])


def _save_structure(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, _, rowptr, _, t_rowptr, to_t = inputs
    ctx.save_for_backward(rowptr, t_rowptr, to_t)


def _sum_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    rowptr, t_rowptr, to_t = ctx.saved_tensors
    da = _to_rows(grad.contiguous(), rowptr)
    db = _to_rows(grad.index_select(0, to_t), t_rowptr)
    return da, db, None, None, None, None


_sum_of_ends.register_autograd(_sum_backward, setup_context=_save_structure)


@torch.library.custom_op("gmpool::row_softmax", mutates_args=())
def _row_softmax(scores: Tensor, rowptr: Tensor) -> Tensor:
    E, ptr = scores.shape[0], rowptr.long()
    scores = scores.detach().contiguous()
    top = torch.segment_reduce(scores, "max", offsets=ptr, initial=float("-inf"))
    e = (scores - _to_entries(top, ptr, E)).exp()
    return e / _to_entries(_to_rows(e, ptr), ptr, E)


@_row_softmax.register_fake
def _(scores: Tensor, rowptr: Tensor) -> Tensor:
    return torch.empty_like(scores)


def _save_softmax(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(output, inputs[1])


def _softmax_backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
    p, rowptr = ctx.saved_tensors
    weighted = p * grad
    total = _to_rows(weighted, rowptr)
    return weighted - p * _to_entries(total, rowptr, p.shape[0]), None


_row_softmax.register_autograd(_softmax_backward, setup_context=_save_softmax)
