"""Messages with bonds by PyTorch's operators, a row for each edge: see operator.py."""

import torch
from torch import Tensor

from gmpool.ops.row_ids import row_ids
from gmpool.ops.sparse import Pattern, spmm
from gmpool.ops.wide import wide


def forward(
    x: Tensor, table: Tensor, code: Tensor, weight: Tensor | None, rowptr: Tensor, col: Tensor
) -> Tensor:
    """x [N, D], table [R, C, D], code, weight and col [E], rowptr [N+1] -> [N, D]"""
    rows, tables = wide(x), wide(table)
    bond = tables.flatten(0, 1).index_select(0, _table_row(tables, code, col, x.shape[0]))
    y = _row_sums(torch.relu(rows.index_select(0, col) + bond), weight, rowptr)
    return y.to(x.dtype)


def backward(
    x: Tensor, table: Tensor, code: Tensor, weight: Tensor | None, rowptr: Tensor, col: Tensor,
    grad: Tensor,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(∂x [N, D], ∂T [R, C, D])"""
    index = (code, weight, rowptr, col)
    dx, dtable = differentiable_backward(wide(x), wide(table), *index, wide(grad))
    return dx.to(x.dtype), dtable.to(table.dtype)


def differentiable_backward(
    x: Tensor, table: Tensor, code: Tensor, weight: Tensor | None, rowptr: Tensor, col: Tensor,
    grad: Tensor,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(∂x, ∂T); differentiable in grad, and almost everywhere constant in the rest."""
    which, rows = _table_row(table, code, col, x.shape[0]), row_ids(rowptr, col.shape[0])
    bond = table.detach().flatten(0, 1).index_select(0, which)
    passes = x.detach().index_select(0, rows) + bond > 0  # [E, D]
    back = torch.where(passes, grad.index_select(0, col), 0.0)
    if weight is not None:
        back = back * weight.to(back.dtype)[:, None]
    zeros = back.new_zeros(table.shape[0] * table.shape[1], table.shape[2])
    dtable = zeros.index_add(0, which, back).view_as(table)
    return _row_sums(back, None, rowptr), dtable.to(table.dtype)


def _table_row(table: Tensor, code: Tensor, col: Tensor, num_rows: int) -> Tensor:
    """The row of each entry in the tables [R, C, D] one after the other. [E]"""
    R, C, _ = table.shape
    code = code.long()
    return code if R == 1 else col.long() // (num_rows // R) * C + code


def _row_sums(entries: Tensor, weight: Tensor | None, rowptr: Tensor) -> Tensor:
    """Σ_e w_e entries_e of each row. [E, D] -> [N, D]"""
    E = entries.shape[0]
    place = torch.arange(E + 1, device=entries.device)
    return spmm(Pattern(rowptr, place[:-1], place, row_ids(rowptr, E)), entries, weight)
