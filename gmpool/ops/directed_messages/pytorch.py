"""Messages on directed bonds by PyTorch's operators: see operator.py."""

import torch
from torch import Tensor

from gmpool.ops.replicas import once
from gmpool.ops.row_ids import row_ids
from gmpool.ops.sparse import Pattern, spmm
from gmpool.ops.wide import wide


def forward(
    own: Tensor, table: Tensor, code: Tensor, g: Tensor | None, rowptr: Tensor, back: Tensor
) -> Tensor:
    """own [N, D], table [R, C, D], code and back [E], g [E, D] or None, rowptr [N+1] -> [E, D]"""
    heard, tables = wide(own), wide(table)
    if g is not None:
        heard = heard + _row_sums(wide(g), rowptr)  # [N, D]
    begins = _rows(rowptr, code).index_select(0, back)
    kind = _table_row((table.shape[0], table.shape[1]), code, rowptr)
    h = heard.index_select(0, begins).add_(tables.flatten(0, 1).index_select(0, kind))
    if g is not None:
        h.sub_(wide(g).index_select(0, back))
    return torch.relu_(h).to(own.dtype)


def backward(
    h: Tensor, grad: Tensor, code: Tensor, rowptr: Tensor, back: Tensor, R: int, C: int
) -> tuple[Tensor, Tensor, Tensor]:
    """(∂own [N, D], ∂T [R, C, D], ∂g [E, D])"""
    made = differentiable_backward(wide(h), wide(grad), code, rowptr, back, R, C)
    own, table, g = (part.to(h.dtype) for part in made)
    return own, table, g


def differentiable_backward(
    h: Tensor, grad: Tensor, code: Tensor, rowptr: Tensor, back: Tensor, R: int, C: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The same; differentiable in grad, and almost everywhere constant in the rest."""
    d = torch.where(h > 0, grad, 0.0)  # [E, D]
    table = d.new_zeros(R * C, d.shape[1]).index_add(0, _table_row((R, C), code, rowptr), d)
    d = d.index_select(0, back)
    own = _row_sums(d, rowptr)
    return own, table.unflatten(0, (R, C)), own.index_select(0, _rows(rowptr, code)) - d


def _rows(rowptr: Tensor, code: Tensor) -> Tensor:
    """The row of each entry. [E]"""
    E = code.shape[0]
    return once(rowptr, ("rows", E), lambda: row_ids(rowptr, E))


def _table_row(size: tuple[int, int], code: Tensor, rowptr: Tensor) -> Tensor:
    """The row of each entry in R tables of C rows, one after the other. [E]"""
    R, C = size
    if R == 1:
        return once(code, ("long",), code.long)
    each = (rowptr.shape[0] - 1) // R
    return _rows(rowptr, code) // each * C + code.long()


def _row_sums(entries: Tensor, rowptr: Tensor) -> Tensor:
    """Σ_e entries_e of each row. [E, D] -> [N, D]"""
    E = entries.shape[0]
    place = torch.arange(E + 1, device=entries.device)
    return spmm(Pattern(rowptr, place[:-1], place, _rows(rowptr, place[:-1])), entries)
