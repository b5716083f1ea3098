"""Seed attention on propagated features that are never made."""

from __future__ import annotations

from torch import Tensor

from gmpool.ops.adjacency import Adjacency
from gmpool.ops.grouped import collect
from gmpool.ops.seed_softmax import mass_of, seed_softmax
from gmpool.ops.segment import Segments


def seed_attention_through(
    gcn: Adjacency,
    x: Tensor,
    m: Tensor,
    c: Tensor,
    segments: Segments,
    num_heads: int,
    axis: str,
) -> tuple[list[Tensor], Tensor, Tensor]:
    """Seed attention for Z = Â X without making Z: Z M = Â (X M) and Aᵀ Z = (Âᵀ A)ᵀ X.

    Two products with Â at width H·K instead of one at width D, and the same for the backward: less
    where 2·H·K < D. Of size [N, D] there is X alone, and its gradient.
    """
    scores = (gcn.matmul(x @ m) + c).unflatten(1, (num_heads, -1))
    a = seed_softmax(scores, segments, axis)
    back = gcn.transposed.matmul(a.flatten(1)).view_as(a)
    return [collect(back, x, segments)], mass_of(a, segments), a
