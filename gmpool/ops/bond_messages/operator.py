"""Messages along edges of a few kinds, summed: one operator with a fused backward.

    y_i = Σ_{e=(i,j)} w_e ReLU(x_j + T[c_e])   [N, D]   from x [N, D], a table T [C, D], codes c [E]
of a matrix that equals its transpose, weights w and codes included: a bond has one kind, whichever
of its atoms asks. So row j of the matrix also lists the rows that x_j went to, and
    ∂x_j = Σ_{e=(j,i)} w_e 1[x_j + T[c_e] > 0] g_i
    ∂T_c = Σ_{e=(j,i), c_e=c} w_e 1[x_j + T_c > 0] g_i
are made together in one walk along the rows, of nothing but the inputs. Weights get no gradient.

R replicas with tables of their own are one call, T [R, C, D], replica r having the r-th part of the
rows. On a GPU with Triton each pass is one kernel, and no row of an edge is ever in memory;
elsewhere, and for a gradient that will itself be differentiated, both are composed.
"""

from typing import Any

import torch
from torch import Tensor

from gmpool.ops.bond_messages.pytorch import differentiable_backward
from gmpool.ops.choice import serving
from gmpool.ops.replicas import flat, lead, shifted, union_ptr
from gmpool.ops.sparse import Pattern
from gmpool.ops.without_dispatcher import save_inputs, without_dispatcher


def bond_messages(
    pattern: Pattern, x: Tensor, table: Tensor, code: Tensor, weight: Tensor | None = None
) -> Tensor:
    """Σ_e w_e ReLU(x_j + T[c_e]) over the entries e = (i, j) of each row i of a symmetric pattern.

    x [N, D], table [C, D], code [E] of any integer type, weight [E] or None (ones) -> [N, D]
    """
    return _call(x, table[None], code, weight, pattern.rowptr, pattern.col)


def _kernel(
    x: Tensor, table: Tensor, code: Tensor, weight: Tensor | None, rowptr: Tensor, col: Tensor
) -> Tensor:
    return serving(x, "bond_messages").forward(x, table, code, weight, rowptr, col)


_messages = torch.library.custom_op("gmpool::bond_messages", _kernel, mutates_args=())


@_messages.register_fake
def _(x: Tensor, table: Tensor, *rest: Any) -> Tensor:
    return x.new_empty(x.shape)


@torch.library.custom_op("gmpool::bond_messages_backward", mutates_args=())
def _messages_backward(
    x: Tensor, table: Tensor, code: Tensor, weight: Tensor | None, rowptr: Tensor, col: Tensor,
    grad: Tensor,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(∂x [N, D], ∂T [R, C, D])"""
    return serving(x, "bond_messages").backward(x, table, code, weight, rowptr, col, grad)


@_messages_backward.register_fake
def _(x: Tensor, table: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
    return x.new_empty(x.shape), table.new_empty(table.shape)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    # Grad mode is on here only when the gradient itself will be differentiated.
    backward: Any = differentiable_backward if torch.is_grad_enabled() else _messages_backward
    dx, dtable = backward(*ctx.saved_tensors, grad)
    return dx, dtable, None, None, None, None


_messages.register_autograd(_backward, setup_context=save_inputs)
_call = without_dispatcher(_messages, _kernel, save_inputs, _backward)


@_messages.register_vmap
def _(
    info: Any, in_dims: Any, x: Tensor, table: Tensor, code: Tensor, weight: Any, *index: Tensor
) -> tuple[Tensor, int]:
    # Rows, tables and entries of the replicas one after the other: the same operator again.
    R, (rowptr, col) = info.batch_size, index
    xs = lead(x, in_dims[0], R)  # [R, N, D]
    N, E = xs.shape[1], lead(col, in_dims[5], R).shape[1]
    y = _messages(
        xs.flatten(0, 1),
        flat(table, in_dims[1], R),
        flat(code, in_dims[2], R),
        None if weight is None else flat(weight, in_dims[3], R),
        union_ptr(rowptr, in_dims[4], R, E),
        shifted(col, in_dims[5], R, N),
    )
    return y.unflatten(0, (R, N)), 0
