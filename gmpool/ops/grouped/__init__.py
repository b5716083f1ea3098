"""Products of a ragged tensor with per-graph tensors, graph by graph."""

from gmpool.ops.grouped.operator import (
    collect,
    collect_blocks,
    match,
    match_blocks,
    spread,
    spread_blocks,
    union_index,
)
from gmpool.ops.grouped.reference import collect_reference, match_reference, spread_reference

__all__ = [
    "collect",
    "collect_blocks",
    "collect_reference",
    "match",
    "match_blocks",
    "match_reference",
    "spread",
    "spread_blocks",
    "spread_reference",
    "union_index",
]
