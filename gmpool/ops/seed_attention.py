"""Seed attention: K learned seeds look at the nodes of each graph, keys and values absorbed.

Given Z [N, D] (the propagated features), M [D, H·K] (per head W^K_i Q_iᵀ, scaled) and the constant
score c [H·K] (Q_i · b^K_i, scaled):
    scores  s = Z M + c                     [N, H·K]
    A       softmax of s over the K seeds per node and head, or over the nodes per seed and head
    returns Aᵀ Z [B, H, K, D] and Aᵀ 1 [B, H, K], from which a head's output is
            (Aᵀ Z) W^V_i + (Aᵀ 1) b^V_i
No key or value is ever built per node. What is kept for the backward pass is Z and A: O(n·K).
"""

from __future__ import annotations

import torch
from torch import Tensor

from gmpool.ops.grouped import collect, collect_reference
from gmpool.ops.segment import Segments, segment_reference, segment_softmax, segment_sum


def seed_softmax(scores: Tensor, segments: Segments, axis: str) -> Tensor:
    """Attention weights. scores [N, H, K] -> A [N, H, K]

    axis "seeds": Σ_k A_nhk = 1 for each node (equation in Proposition 5; keeps multiplicity).
    axis "nodes": Σ_{n in graph} A_nhk = 1 for each seed.
    """
    if axis == "seeds":
        # Seeds are few: with nodes innermost the softmax is vectorised over nodes.
        return scores.permute(1, 2, 0).softmax(1).permute(2, 0, 1)
    return segment_softmax(scores.flatten(1), segments).view_as(scores)


def seed_attention(
    z: Tensor, m: Tensor, c: Tensor, segments: Segments, num_heads: int, axis: str
) -> tuple[Tensor, Tensor, Tensor]:
    """(Aᵀ Z [B, H, K, D], Aᵀ 1 [B, H, K], A [N, H, K]). z [N, D], m [D, H·K], c [H·K]"""
    N, J = z.shape[0], m.shape[1]
    H, K, B = num_heads, J // num_heads, segments.num_graphs
    if K == 1 and axis == "seeds":
        # A softmax over one seed is 1: pooling is a sum, and there is no score to differentiate.
        pooled = segment_sum(z, segments)[:, None, None].expand(B, H, 1, z.shape[1])
        mass = segments.counts.to(z.dtype)[:, None, None].expand(B, H, 1)
        return pooled, mass, z.new_ones(N, H, 1)
    scores = (z @ m + c).view(N, H, K)
    a = seed_softmax(scores, segments, axis)
    flat = a.reshape(N, J)
    pooled = collect(flat, z, segments).view(B, H, K, z.shape[1])
    return pooled, segment_sum(flat, segments).view(B, H, K), a


def seed_attention_reference(
    z: Tensor, m: Tensor, c: Tensor, segments: Segments, num_heads: int, axis: str
) -> tuple[Tensor, Tensor, Tensor]:
    """The same by one-hot membership and a loop over graphs: slow, quadratic, plain."""
    N, J = z.shape[0], m.shape[1]
    H, K, B = num_heads, J // num_heads, segments.num_graphs
    scores = z @ m + c
    if axis == "seeds":
        a = torch.cat([part.softmax(1) for part in scores.split(K, dim=1)], dim=1)
    else:
        a = segment_reference(scores, segments, "softmax")
    pooled = collect_reference(a, z, segments).view(B, H, K, -1)
    mass = collect_reference(a, z.new_ones(N, 1), segments).view(B, H, K)
    return pooled, mass, a.view(N, H, K)
