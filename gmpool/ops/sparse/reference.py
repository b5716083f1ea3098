"""What spmm and sddmm mean."""

import torch
from torch import Tensor

from gmpool.ops.sparse.pattern import Pattern


def spmm_reference(pattern: Pattern, x: Tensor, weight: Tensor | None = None) -> Tensor:
    """What spmm means: the dense matrix, then a product."""
    w = torch.ones(pattern.col.shape, dtype=x.dtype, device=x.device) if weight is None else weight
    dense = x.new_zeros(pattern.rowptr.numel() - 1, x.shape[0])
    return dense.index_put((pattern.rows, pattern.col), w.to(x.dtype), accumulate=True) @ x


def sddmm_reference(pattern: Pattern, a: Tensor, b: Tensor) -> Tensor:
    """What sddmm means: all products, then the entries of the pattern."""
    return (a @ b.t())[pattern.rows, pattern.col]
