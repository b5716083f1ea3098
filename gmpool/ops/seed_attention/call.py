"""One call of seed attention, as its implementations are given it; see operator.py."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from gmpool.ops.segment import Segments


class Call(NamedTuple):
    blocks: list[Tensor]  # Z as columns [N, D_l]
    m: Tensor  # [R, D, H·K]
    c: Tensor  # [R, H·K]
    segments: Segments  # graph b belongs to replica b // (B/R)
    num_heads: int
    axis: str
    path: str

    @property
    def shape(self) -> tuple[list[int], int, int, str]:
        """What kernels are cut to: widths, H, H·K and the axis of the softmax."""
        return [z.shape[1] for z in self.blocks], self.num_heads, self.m.shape[2], self.axis


class Kept(NamedTuple):
    """What the forward pass leaves for the backward one."""

    a: Tensor  # [N, H, K], or nothing where kernels make it again
    pooled: list[Tensor]  # Aᵀ Z, and
    lse: Tensor  # log Σ e^s [B, H·K], both for kernels over nodes


class Gradients(NamedTuple):
    """Of what the forward pass returned."""

    pooled: list[Tensor]  # [H, B, K, D_l]
    mass: Tensor  # [H, B, K]
    a: Tensor  # [N, H, K], or nothing where A was not returned
