"""What seed attention means."""

import torch
from torch import Tensor

from gmpool.ops.grouped.reference import collect_reference
from gmpool.ops.segment import Segments
from gmpool.ops.segment.reference import segment_reference


def seed_attention_reference(
    z: Tensor, m: Tensor, c: Tensor, segments: Segments, num_heads: int, axis: str
) -> tuple[Tensor, Tensor, Tensor]:
    """One-hot membership and a loop over graphs. z [N, D], m [D, H·K], c [H·K]"""
    N, K = z.shape[0], m.shape[1] // num_heads
    scores = z @ m + c
    if axis == "seeds":
        a = torch.cat([part.softmax(1) for part in scores.split(K, dim=1)], dim=1)
    else:
        a = segment_reference(scores, segments, "softmax")
    a = a.view(N, num_heads, K)
    mass = collect_reference(a, z.new_ones(N, 1), segments)[..., 0]
    return collect_reference(a, z, segments), mass, a
