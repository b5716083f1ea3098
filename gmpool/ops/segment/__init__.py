"""Which graph each node belongs to, and sums, means, maxima and softmaxes per graph."""

from gmpool.ops.segment.reductions import (
    segment_gather,
    segment_max,
    segment_mean,
    segment_softmax,
    segment_sum,
)
from gmpool.ops.segment.segments import Segments

__all__ = [
    "Segments",
    "segment_gather",
    "segment_max",
    "segment_mean",
    "segment_softmax",
    "segment_sum",
]
