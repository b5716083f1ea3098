"""Maximum over the neighbours of each node, column by column.

m_id = max_{j in row i} x_jd

The gradient goes to the neighbour that has the maximum; of several that share it, to one.
"""

from typing import Any

import torch
from torch import Tensor

from gmpool.ops.sparse import Pattern
from gmpool.ops.wide import wide

# A double has 29 more bits of mantissa than a float.
SPARE_BITS = 29


def neighbour_max(pattern: Pattern, x: Tensor) -> Tensor:
    """x [N, D] -> [M, D]; every row of the pattern must have entries."""
    return _neighbour_max(x, pattern.rowptr, pattern.col)[0]


def neighbour_max_reference(pattern: Pattern, x: Tensor) -> Tensor:
    """What neighbour_max means: a loop over rows."""
    sizes = (pattern.rowptr[1:] - pattern.rowptr[:-1]).tolist()
    parts = [x[col].max(0).values for col in pattern.col.long().split(sizes)]
    return torch.stack(parts) if parts else x[:0]


@torch.library.custom_op("gmpool::neighbour_max", mutates_args=())
def _neighbour_max(x: Tensor, rowptr: Tensor, col: Tensor) -> tuple[Tensor, Tensor]:
    """(maximum, which node has it), both [M, D]"""
    M, (N, D) = rowptr.shape[0] - 1, x.shape
    if col.numel() == 0 or D == 0:
        return x.new_zeros(M, D), torch.zeros(M, D, dtype=torch.long, device=x.device)
    table = wide(x).contiguous()
    narrow = table.dtype == torch.float32 and N < 2**SPARE_BITS
    finite = x.is_cuda or bool(table.sum().isfinite())  # a sum may overflow: then slower, and right
    if narrow and finite and not x.is_cuda:
        who = _who_packed(table, rowptr, col)
    else:
        if not finite:
            # What is no number is the largest, and bags pass over it.
            most = torch.finfo(table.dtype).max
            table = table.nan_to_num(nan=float("inf"), posinf=most, neginf=-most)
        # embedding_bag(weight, indices, offsets, scale_grad, mode=max, sparse, weights, last)
        bag = torch.embedding_bag(table, col, rowptr.to(col.dtype), False, 2, False, None, True)
        who = bag[3].long()
    return x.gather(0, who), who


def _who_packed(table: Tensor, rowptr: Tensor, col: Tensor) -> Tensor:
    """The sparse product with maxima for sums is vectorised as long as it need not say which node
    has the maximum. So the number of the node goes into bits of a double that a float leaves free:
    they decide among equal values only. Of an infinite number they would make none."""
    (N, _), E = table.shape, col.shape[0]
    node = torch.arange(N, device=table.device)[:, None]
    packed = (table.double().view(torch.int64) | node).view(torch.float64)
    ones = packed.new_ones(E)
    shape = (rowptr.shape[0] - 1, N)
    csr = torch.sparse_csr_tensor(rowptr.to(col.dtype), col, ones, shape, check_invariants=False)
    top = torch.sparse.mm(csr, packed, reduce="amax")
    return top.view(torch.int64) & (2**SPARE_BITS - 1)


@_neighbour_max.register_fake
def _(x: Tensor, rowptr: Tensor, col: Tensor) -> tuple[Tensor, Tensor]:
    shape = (rowptr.shape[0] - 1, x.shape[1])
    return x.new_empty(shape), x.new_empty(shape, dtype=torch.long)


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.num_nodes = inputs[0].shape[0]
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(output[1])


def _backward(ctx: Any, grad: Tensor, _: Any) -> tuple[Tensor, None, None]:
    (who,) = ctx.saved_tensors
    g = wide(grad)
    dx = g.new_zeros(ctx.num_nodes, g.shape[1])
    if g.is_cuda:
        # There index_put adds in a fixed order, and scatter_add does not.
        column = torch.arange(g.shape[1], device=g.device).expand_as(who)
        dx.index_put_((who, column), g, accumulate=True)
    else:
        dx.scatter_add_(0, who, g)
    return dx.to(grad.dtype), None, None


_neighbour_max.register_autograd(_backward, setup_context=_save)
