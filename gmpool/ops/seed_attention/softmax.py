"""The softmax of seed attention, over seeds or over nodes, and how much each seed gathers."""

from __future__ import annotations

from torch import Tensor

from gmpool.ops.segment import Segments, segment_gather, segment_softmax, segment_sum

MANY_SEEDS = 32
"""From here on a CPU's softmax along the seeds is the faster one; below, ten times slower."""


def seed_softmax(scores: Tensor, segments: Segments, axis: str) -> Tensor:
    """Attention weights. scores [N, H, K] -> A [N, H, K]

    axis "seeds": Σ_k A_nhk = 1 for each node (equation in Proposition 5; keeps multiplicity).
    axis "nodes": Σ_{n in graph} A_nhk = 1 for each seed.
    """
    if axis == "seeds" and (scores.is_cuda or scores.shape[2] >= MANY_SEEDS):
        return scores.softmax(2)
    if axis == "seeds":
        # With nodes innermost the softmax is vectorised over nodes.
        return scores.permute(1, 2, 0).softmax(1).permute(2, 0, 1)
    return segment_softmax(scores.flatten(1), segments).view_as(scores)


def softmax_backward(a: Tensor, da: Tensor, segments: Segments, axis: str) -> Tensor:
    """∂/∂scores of a softmax with weights a, given ∂/∂a. [N, H, K]"""
    weighted = a * da
    if axis == "seeds":
        return weighted - a * weighted.sum(2, keepdim=True)
    total = segment_sum(weighted.flatten(1), segments)
    return weighted - a * segment_gather(total, segments).view_as(a)


def mass_of(a: Tensor, segments: Segments) -> Tensor:
    """Aᵀ 1. [N, H, K] -> [H, B, K]"""
    return segment_sum(a.flatten(1), segments).view(-1, *a.shape[1:]).transpose(0, 1)
