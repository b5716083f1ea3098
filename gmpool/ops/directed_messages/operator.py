"""Messages on directed bonds (D-MPNN): one operator with a fused backward.

The entries e of row i are the bonds j → i, and back(e) is the entry of the bond i → j. A bond hears
the atom where it begins, its own kind, and what came to that atom along all other bonds:
    h_p = ReLU(own_i + T[c_p] + Σ_{e in row i} g_e - g_back(p))    i the row of back(p)    [E, D]
with own [N, D], a table T [C, D], codes c [E] and g [E, D], which may be missing. So what begins at
an atom depends on one row alone, and so do the gradients: with d_p = 1[h_p > 0] ∂h_p
    ∂own_i = Σ_{e in row i} d_back(e)   ∂T_c = Σ_{p: c_p = c} d_p   ∂g_e = ∂own_i - d_back(e)
The way back leads back: back(back(e)) = e.

R replicas with tables of their own are one call, T [R, C, D], replica r having the r-th part of the
rows. On a GPU with Triton each pass is one kernel; elsewhere, and for a gradient that will itself
be differentiated, both are composed.
"""

from typing import Any

import torch
from torch import Tensor

from gmpool.ops.choice import serving
from gmpool.ops.directed_messages.pytorch import differentiable_backward
from gmpool.ops.replicas import flat, lead, shifted, union_ptr
from gmpool.ops.without_dispatcher import without_dispatcher


def directed_messages(
    own: Tensor, table: Tensor, code: Tensor, g: Tensor | None, rowptr: Tensor, back: Tensor
) -> Tensor:
    """ReLU(own_i + T[c_p] + Σ_{e in row i} g_e - g_back(p)), i the row of back(p), for each p.

    own [N, D], table [C, D], code [E] of any integer type, g [E, D] or None (zeros),
    rowptr [N+1], back [E] -> [E, D]
    """
    return _call(own, table[None], code, g, rowptr, back)


def _kernel(
    own: Tensor, table: Tensor, code: Tensor, g: Tensor | None, rowptr: Tensor, back: Tensor
) -> Tensor:
    return serving(own, "directed_messages").forward(own, table, code, g, rowptr, back)


_messages = torch.library.custom_op("gmpool::directed_messages", _kernel, mutates_args=())


@_messages.register_fake
def _(own: Tensor, table: Tensor, code: Tensor, *rest: Any) -> Tensor:
    return own.new_empty(code.shape[0], own.shape[1])


@torch.library.custom_op("gmpool::directed_messages_backward", mutates_args=())
def _messages_backward(
    h: Tensor, grad: Tensor, code: Tensor, rowptr: Tensor, back: Tensor, R: int, C: int
) -> tuple[Tensor, Tensor, Tensor]:
    """(∂own [N, D], ∂T [R, C, D], ∂g [E, D])"""
    served = serving(h, "directed_messages")
    return served.backward(h, grad, code, rowptr, back, R, C)


@_messages_backward.register_fake
def _(
    h: Tensor, grad: Tensor, code: Tensor, rowptr: Tensor, back: Tensor, R: int, C: int
) -> tuple[Tensor, Tensor, Tensor]:
    D = h.shape[1]
    own, table = h.new_empty(rowptr.shape[0] - 1, D), h.new_empty(R, C, D)
    return own, table, h.new_empty(h.shape)


def _save(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, table, code, g, rowptr, back = inputs
    ctx.replicas, ctx.kinds, ctx.has_g = table.shape[0], table.shape[1], g is not None
    ctx.save_for_backward(output, code, rowptr, back)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    h, *index = ctx.saved_tensors
    # Grad mode is on here only when the gradient itself will be differentiated.
    backward: Any = differentiable_backward if torch.is_grad_enabled() else _messages_backward
    own, table, g = backward(h.detach(), grad, *index, ctx.replicas, ctx.kinds)
    return own, table, None, g if ctx.has_g else None, None, None


_messages.register_autograd(_backward, setup_context=_save)
_call = without_dispatcher(_messages, _kernel, _save, _backward)


@_messages.register_vmap
def _(
    info: Any, in_dims: Any, own: Tensor, table: Tensor, code: Tensor, g: Any, *index: Tensor
) -> tuple[Tensor, int]:
    # Rows, tables and entries of the replicas one after the other: the same operator again.
    R, (rowptr, back) = info.batch_size, index
    E = lead(back, in_dims[5], R).shape[1]
    h = _messages(
        flat(own, in_dims[0], R),
        flat(table, in_dims[1], R),
        flat(code, in_dims[2], R),
        None if g is None else flat(g, in_dims[3], R),
        union_ptr(rowptr, in_dims[4], R, E),
        shifted(back, in_dims[5], R, E),
    )
    return h.unflatten(0, (R, E)), 0
