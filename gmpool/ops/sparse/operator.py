"""spmm and sddmm on a fixed sparsity pattern: the two operators everything ragged is made of.

    spmm   y_i = Σ_{e=(i,j)} w_e x_j          [M, D]   from x [N, D], w [E] (or all ones)
    sddmm  s_e = a_i · b_j   for e = (i,j)    [E]      from a [M, D], b [N, D]

Each is the other's derivative: ∂spmm/∂w is an sddmm, ∂sddmm/∂a is an spmm, and ∂spmm/∂x is an spmm
on the transpose, which the pattern keeps. So first, second and every further derivative runs on
these two kernels, without a sort and without a scatter.
"""

from typing import Any

import torch
from torch import Tensor

from gmpool.ops import onnx_forms
from gmpool.ops.choice import serving
from gmpool.ops.replicas import flat, lead
from gmpool.ops.sparse.pattern import Pattern, union_of
from gmpool.ops.sparse.pytorch import sddmm as sddmm_values
from gmpool.ops.without_dispatcher import save_inputs, without_dispatcher


def spmm(pattern: Pattern, x: Tensor, weight: Tensor | None = None) -> Tensor:
    """Σ_j w_ij x_j for each row i of the pattern. x [N, D], weight [E] or None -> [M, D]"""
    p = pattern
    return _call_spmm(x, weight, p.rowptr, p.col, p.t_rowptr, p.t_col, p.to_t, p.from_t)


def sddmm(pattern: Pattern, a: Tensor, b: Tensor) -> Tensor:
    """a_i · b_j for each entry (i, j) of the pattern. a [M, D], b [N, D] -> [E]"""
    p = pattern
    return _call_sddmm(a, b, p.rowptr, p.col, p.t_rowptr, p.t_col, p.to_t, p.from_t)


def _spmm_kernel(
    x: Tensor, weight: Tensor | None, rowptr: Tensor, col: Tensor, t_rowptr: Tensor,
    t_col: Tensor, to_t: Tensor | None, from_t: Tensor | None,
) -> Tensor:  # fmt: skip
    if col.numel() == 0:
        return x.new_zeros(rowptr.numel() - 1, x.shape[1])
    return serving(x, "sparse").spmm(x, weight, rowptr, col)


_spmm = torch.library.custom_op("gmpool::spmm", _spmm_kernel, mutates_args=())


@_spmm.register_fake
def _(x: Tensor, weight: Any, rowptr: Tensor, *rest: Any) -> Tensor:
    return x.new_empty(rowptr.shape[0] - 1, x.shape[1])


def _spmm_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    x, weight, *structure = ctx.saved_tensors
    pattern = Pattern(*structure)
    dx = dw = None
    if ctx.needs_input_grad[0]:
        w = weight
        if w is not None and pattern.to_t is not None:
            w = w.index_select(0, pattern.to_t)
        dx = spmm(pattern.transposed, grad, w)
    if weight is not None and ctx.needs_input_grad[1]:
        dw = sddmm(pattern, grad, x).to(weight.dtype)
    return dx, dw, None, None, None, None, None, None


_spmm.register_autograd(_spmm_backward, setup_context=save_inputs)
_call_spmm = without_dispatcher(_spmm, _spmm_kernel, save_inputs, _spmm_backward, onnx_forms.spmm)


def _sddmm_kernel(
    a: Tensor, b: Tensor, rowptr: Tensor, col: Tensor, t_rowptr: Tensor,
    t_col: Tensor, to_t: Tensor | None, from_t: Tensor | None,
) -> Tensor:  # fmt: skip
    if col.numel() == 0:
        return a.new_zeros(0)
    return sddmm_values(a, b, rowptr, col)


_sddmm = torch.library.custom_op("gmpool::sddmm", _sddmm_kernel, mutates_args=())


@_sddmm.register_fake
def _(a: Tensor, b: Tensor, rowptr: Tensor, col: Tensor, *rest: Any) -> Tensor:
    return a.new_empty(col.shape[0])


def _sddmm_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    a, b, *structure = ctx.saved_tensors
    pattern = Pattern(*structure)
    da = db = None
    if ctx.needs_input_grad[0]:
        da = spmm(pattern, b, grad)
    if ctx.needs_input_grad[1]:
        g = grad if pattern.to_t is None else grad.index_select(0, pattern.to_t)
        db = spmm(pattern.transposed, a, g)
    return da, db, None, None, None, None, None, None


_sddmm.register_autograd(_sddmm_backward, setup_context=save_inputs)
_call_sddmm = without_dispatcher(
    _sddmm, _sddmm_kernel, save_inputs, _sddmm_backward, onnx_forms.sddmm
)


@_spmm.register_vmap
def _(info: Any, in_dims: Any, x: Tensor, weight: Any, *structure: Any) -> tuple[Tensor, int]:
    R = info.batch_size
    if all(d is None for d in in_dims[1:]):
        # One matrix for all replicas: put them side by side as columns. [N, R·D]
        columns = lead(x, in_dims[0], R).transpose(0, 1)
        y = spmm(Pattern(*structure), columns.flatten(1), weight)
        return y.unflatten(1, (R, columns.shape[2])), 1
    rowptr_dim = in_dims[2]
    M = structure[0].shape[0 if rowptr_dim is None else 1 - rowptr_dim] - 1
    xs = lead(x, in_dims[0], R)
    pattern = union_of(R, in_dims[2:], M, xs.shape[1], *structure)
    w = None if weight is None else flat(weight, in_dims[1], R)
    return spmm(pattern, xs.flatten(0, 1), w).unflatten(0, (R, M)), 0


@_sddmm.register_vmap
def _(info: Any, in_dims: Any, a: Tensor, b: Tensor, *structure: Any) -> tuple[Tensor, int]:
    R = info.batch_size
    left, right = lead(a, in_dims[0], R), lead(b, in_dims[1], R)
    pattern = union_of(R, in_dims[2:], left.shape[1], right.shape[1], *structure)
    s = sddmm(pattern, left.flatten(0, 1), right.flatten(0, 1))
    return s.unflatten(0, (R, s.shape[0] // R)), 0
