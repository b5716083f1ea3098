"""spmm and sddmm on a fixed sparsity pattern: the two operators everything ragged is made of.

    spmm   y_i = Σ_{e=(i,j)} w_e x_j          [M, D]   from x [N, D], w [E] (or all ones)
    sddmm  s_e = a_i · b_j   for e = (i,j)    [E]      from a [M, D], b [N, D]

Each is the other's derivative: ∂spmm/∂w is an sddmm, ∂sddmm/∂a is an spmm, and ∂spmm/∂x is an spmm
on the transpose, which the pattern keeps. So first, second and every further derivative runs on
these two kernels, without a sort and without a scatter.

The CPU kernel of spmm is PyTorch's embedding_bag, which sums weighted rows of a table per bag: that
is an spmm by another name, vectorised and threaded, and on the batches of this field faster than
the sparse CSR product and far faster than index_add (`gmpool bench ops`). On a GPU with Triton it
is a kernel of ours (triton_spmm.py). sddmm is PyTorch's sampled_addmm.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gmpool.ops import gpu
from gmpool.ops.direct import direct
from gmpool.ops.replicas import flat, lead, shifted, union_ptr
from gmpool.ops.row_ids import row_ids


@dataclass(frozen=True)
class Pattern:
    """Which (row, column) pairs an M × N sparse matrix has, and the same for its transpose.

    rowptr [M+1], col [E]: row i has the columns col[rowptr[i]:rowptr[i+1]].
    t_rowptr [N+1], t_col [E]: the transpose, likewise.
    to_t [E]: entry p of the transpose is entry to_t[p] of the matrix; from_t is its inverse. Both
    are None when entry values are equal under transposition (a symmetric matrix), or all ones.
    """

    rowptr: Tensor
    col: Tensor
    t_rowptr: Tensor
    t_col: Tensor
    to_t: Tensor | None = None
    from_t: Tensor | None = None

    @property
    def transposed(self) -> Pattern:
        return Pattern(
            self.t_rowptr, self.t_col, self.rowptr, self.col, to_t=self.from_t, from_t=self.to_t
        )

    @property
    def rows(self) -> Tensor:
        """The row of each entry. [E]"""
        return row_ids(self.rowptr, self.col.numel())


def spmm(pattern: Pattern, x: Tensor, weight: Tensor | None = None) -> Tensor:
    """Σ_j w_ij x_j for each row i of the pattern. x [N, D], weight [E] or None -> [M, D]"""
    p = pattern
    return _call_spmm(x, weight, p.rowptr, p.col, p.t_rowptr, p.t_col, p.to_t, p.from_t)


def sddmm(pattern: Pattern, a: Tensor, b: Tensor) -> Tensor:
    """a_i · b_j for each entry (i, j) of the pattern. a [M, D], b [N, D] -> [E]"""
    p = pattern
    return _call_sddmm(a, b, p.rowptr, p.col, p.t_rowptr, p.t_col, p.to_t, p.from_t)


def spmm_reference(pattern: Pattern, x: Tensor, weight: Tensor | None = None) -> Tensor:
    """What spmm means: the dense matrix, then a product."""
    w = torch.ones(pattern.col.shape, dtype=x.dtype, device=x.device) if weight is None else weight
    dense = x.new_zeros(pattern.rowptr.numel() - 1, x.shape[0])
    return dense.index_put((pattern.rows, pattern.col), w.to(x.dtype), accumulate=True) @ x


def sddmm_reference(pattern: Pattern, a: Tensor, b: Tensor) -> Tensor:
    """What sddmm means: all products, then the entries of the pattern."""
    return (a @ b.t())[pattern.rows, pattern.col]


def wide(x: Tensor) -> Tensor:
    """Sums of half-precision rows are accumulated in float32. Detached: inside an operator, what
    looks at requires_grad (embedding_bag does) would prepare for a backward that is ours."""
    x = x.detach()
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x


def add_products(values: Tensor, rowptr: Tensor, col: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """values_e + a_i · b_j for the entries e = (i, j) of a CSR pattern. [E]"""
    shape = (a.shape[0], b.shape[0])
    csr = torch.sparse_csr_tensor(rowptr, col, values, shape, check_invariants=False)
    return torch.sparse.sampled_addmm(csr, a.contiguous(), b.contiguous().t()).values()


with warnings.catch_warnings():
    # torch says once per process that CSR tensors are in beta; our users need not read it.
    warnings.simplefilter("ignore")
    torch.sparse_csr_tensor([0, 1], [0], [0.0], (1, 1), check_invariants=False)


def _spmm_kernel(
    x: Tensor,
    weight: Tensor | None,
    rowptr: Tensor,
    col: Tensor,
    t_rowptr: Tensor,
    t_col: Tensor,
    to_t: Tensor | None,
    from_t: Tensor | None,
) -> Tensor:
    if col.numel() == 0:
        return x.new_zeros(rowptr.numel() - 1, x.shape[1])
    if gpu.usable(x):
        from gmpool.ops import triton_spmm

        return triton_spmm.spmm(x, weight, rowptr, col)
    table = wide(x).contiguous()
    weight = None if weight is None else weight.detach().to(table.dtype)
    # embedding_bag(weight, indices, offsets, scale_grad, mode=sum, sparse, weights, include_last)
    y = torch.embedding_bag(table, col, rowptr.to(col.dtype), False, 0, False, weight, True)[0]
    return y.to(x.dtype)


_spmm = torch.library.custom_op("gmpool::spmm", _spmm_kernel, mutates_args=())


@_spmm.register_fake
def _(x: Tensor, weight: Any, rowptr: Tensor, *rest: Any) -> Tensor:
    return x.new_empty(rowptr.shape[0] - 1, x.shape[1])


def _save_spmm(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


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


_spmm.register_autograd(_spmm_backward, setup_context=_save_spmm)
_call_spmm = direct(_spmm, _spmm_kernel, _save_spmm, _spmm_backward)


def _sddmm_kernel(
    a: Tensor,
    b: Tensor,
    rowptr: Tensor,
    col: Tensor,
    t_rowptr: Tensor,
    t_col: Tensor,
    to_t: Tensor | None,
    from_t: Tensor | None,
) -> Tensor:
    if col.numel() == 0:
        return a.new_zeros(0)
    left, right = wide(a), wide(b)
    zeros = left.new_zeros(col.numel())
    return add_products(zeros, rowptr.to(col.dtype), col, left, right).to(a.dtype)


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


_sddmm.register_autograd(_sddmm_backward, setup_context=_save_spmm)
_call_sddmm = direct(_sddmm, _sddmm_kernel, _save_spmm, _sddmm_backward)


def _union(R: int, dims: tuple[Any, ...], num_rows: int, num_cols: int, *structure: Any) -> Pattern:
    """The pattern of R disjoint copies (or R patterns side by side)."""
    rowptr, col, t_rowptr, t_col, to_t, from_t = structure
    E = col.shape[-1]
    return Pattern(
        union_ptr(rowptr, dims[0], R, E),
        shifted(col, dims[1], R, num_cols),
        union_ptr(t_rowptr, dims[2], R, E),
        shifted(t_col, dims[3], R, num_rows),
        None if to_t is None else shifted(to_t, dims[4], R, E),
        None if from_t is None else shifted(from_t, dims[5], R, E),
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
    pattern = _union(R, in_dims[2:], M, xs.shape[1], *structure)
    w = None if weight is None else flat(weight, in_dims[1], R)
    return spmm(pattern, xs.flatten(0, 1), w).unflatten(0, (R, M)), 0


@_sddmm.register_vmap
def _(info: Any, in_dims: Any, a: Tensor, b: Tensor, *structure: Any) -> tuple[Tensor, int]:
    R = info.batch_size
    left, right = lead(a, in_dims[0], R), lead(b, in_dims[1], R)
    pattern = _union(R, in_dims[2:], left.shape[1], right.shape[1], *structure)
    s = sddmm(pattern, left.flatten(0, 1), right.flatten(0, 1))
    return s.unflatten(0, (R, s.shape[0] // R)), 0
