"""spmm and sddmm by PyTorch's operators.

spmm is embedding_bag, which sums weighted rows of a table per bag: that is an spmm by another name,
vectorised and threaded, and on the batches of this field faster than the sparse CSR product and far
faster than index_add (`gmpool bench ops`). sddmm is sampled_addmm.
"""

import warnings

import torch
from torch import Tensor

from gmpool.ops.wide import wide

with warnings.catch_warnings():
    # torch says once per process that CSR tensors are in beta; our users need not read it.
    warnings.simplefilter("ignore")
    torch.sparse_csr_tensor([0, 1], [0], [0.0], (1, 1), check_invariants=False)


def spmm(x: Tensor, weight: Tensor | None, rowptr: Tensor, col: Tensor) -> Tensor:
    """x [N, D], weight [E] or None, rowptr [M+1], col [E] -> [M, D]"""
    table = wide(x).contiguous()
    weight = None if weight is None else weight.detach().to(table.dtype)
    # embedding_bag(weight, indices, offsets, scale_grad, mode=sum, sparse, weights, include_last)
    y = torch.embedding_bag(table, col, rowptr.to(col.dtype), False, 0, False, weight, True)[0]
    return y.to(x.dtype)


def sddmm(a: Tensor, b: Tensor, rowptr: Tensor, col: Tensor) -> Tensor:
    """a [M, D], b [N, D], rowptr [M+1], col [E] -> [E]"""
    left, right = wide(a), wide(b)
    zeros = left.new_zeros(col.numel())
    return add_products(zeros, rowptr.to(col.dtype), col, left, right).to(a.dtype)


def add_products(values: Tensor, rowptr: Tensor, col: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """values_e + a_i · b_j for the entries e = (i, j) of a CSR pattern. [E]"""
    shape = (a.shape[0], b.shape[0])
    csr = torch.sparse_csr_tensor(rowptr, col, values, shape, check_invariants=False)
    return torch.sparse.sampled_addmm(csr, a.contiguous(), b.contiguous().t()).values()
