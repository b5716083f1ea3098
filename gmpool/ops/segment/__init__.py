"""Which graph each node belongs to, and sums, means, maxima and softmaxes per graph."""

from gmpool.ops.segment.segments import INDEX_TYPES as INDEX_TYPES
from gmpool.ops.segment.segments import Segments as Segments
from gmpool.ops.segment.segments import Words as Words
from gmpool.ops.segment.segments import segment_gather as segment_gather
from gmpool.ops.segment.segments import segment_max as segment_max
from gmpool.ops.segment.segments import segment_mean as segment_mean
from gmpool.ops.segment.segments import segment_softmax as segment_softmax
from gmpool.ops.segment.segments import segment_sum as segment_sum
