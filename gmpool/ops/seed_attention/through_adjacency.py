"""Seed attention on propagated features that are never made."""

from typing import Any

import torch
from torch import Tensor

from gmpool.ops.grouped import collect, match, spread
from gmpool.ops.matrix import Matrix
from gmpool.ops.seed_attention.pytorch import mass_of, seed_softmax, softmax_backward
from gmpool.ops.segment import Segments, segment_gather
from gmpool.ops.without_dispatcher import only_values


def seed_attention_through(
    gcn: Matrix, x: Tensor, m: Tensor, c: Tensor, segments: Segments, num_heads: int, axis: str
) -> tuple[list[Tensor], Tensor, Tensor]:
    """Seed attention for Z = Â X without making Z: Z M = Â (X M) and Aᵀ Z = (Âᵀ A)ᵀ X.

    Two products with Â at width H·K instead of one at width D, and the same for the backward: less
    where 2·H·K < D. Of size [N, D] there is X alone, and its gradient.
    """
    if only_values(x) and not gcn.learns:
        pooled, mass, a = _Through.apply(x, m, c, gcn, segments, num_heads, axis)
    else:
        pooled, mass, a, _ = _attend(x, x @ m, c, gcn, segments, num_heads, axis)
    return [pooled], mass, a


def _attend(
    x: Tensor, xm: Tensor, c: Tensor, gcn: Matrix, segments: Segments, num_heads: int, axis: str
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Aᵀ Z, Aᵀ 1, A and Âᵀ A, from X M."""
    scores = (gcn.matmul(xm) + c).unflatten(1, (num_heads, -1))
    a = seed_softmax(scores, segments, axis).contiguous()
    back = gcn.transposed.matmul(a.flatten(1)).view_as(a)
    return collect(back, x, segments), mass_of(a, segments), a, back


class _Through(torch.autograd.Function):
    """The same, with a backward that makes ∂X in one place.

    Its backward is made of operators that can be differentiated: so can the gradient. Products of N
    rows with the few columns of M are made as few rows with N columns, which a CPU does four times
    as fast.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, m: Tensor, c: Tensor, *how: Any) -> tuple[Tensor, ...]:
        pooled, mass, a, back = _attend(x, (m.t() @ x.t()).t(), c, *how)
        ctx.how = how
        ctx.save_for_backward(x, m, a, back)
        return pooled, mass, a

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (g, g_mass, g_a), (x, m, a, back) = grads, ctx.saved_tensors
        gcn, segments, _, axis = ctx.how
        if torch.is_grad_enabled():
            # This gradient will itself be differentiated: it must know what Âᵀ A depends on.
            back = gcn.transposed.matmul(a.flatten(1)).view_as(a)
        da = gcn.matmul(match(x, g, segments).flatten(1)).view_as(a) + g_a
        da = da + segment_gather(g_mass.transpose(0, 1).flatten(1), segments).view_as(a)
        ds = softmax_backward(a, da, segments, axis).flatten(1)  # [N, H·K]
        dxm = gcn.transposed.matmul(ds)
        dx = spread(back, g, segments).addmm_(dxm, m.t())
        return dx, (dxm.t() @ x).t(), ds.sum(0), None, None, None, None
