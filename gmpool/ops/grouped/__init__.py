"""Products of a ragged tensor with per-graph tensors, graph by graph."""

from gmpool.ops.grouped.operator import collect, match, spread

__all__ = ["collect", "match", "spread"]
