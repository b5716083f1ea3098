"""What the reductions mean."""

import torch
from torch import Tensor

from gmpool.ops.segment.segments import Segments


def segment_reference(x: Tensor, segments: Segments, reduce: str) -> Tensor:
    """A loop over graphs. [N, F] -> [B, F] ([N, F] for softmax)"""
    parts = [
        x[segments.order[a:b]]
        for a, b in zip(segments.ptr[:-1].tolist(), segments.ptr[1:].tolist(), strict=True)
    ]
    if reduce == "softmax":
        rows = torch.cat([p.softmax(0) for p in parts])
        return rows[segments.order.argsort()]
    zero = x.new_zeros(x.shape[1:])
    reducers = {"sum": lambda p: p.sum(0), "mean": lambda p: p.mean(0), "max": lambda p: p.amax(0)}
    return torch.stack([reducers[reduce](p) if len(p) else zero for p in parts])
