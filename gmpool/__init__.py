"""Graph multiset pooling: exact, padding-free readouts for graphs, and a way to compare them."""

from gmpool.data import PackedGraphs
from gmpool.graph import Edges, Segments
from gmpool.pool.blocks import GMPool, SelfAtt
from gmpool.pool.gmt import GraphMultisetTransformer, seeds_for
from gmpool.pool.method import Pooled

__version__ = "0.1.0"

__all__ = [
    "Edges",
    "GMPool",
    "GraphMultisetTransformer",
    "PackedGraphs",
    "Pooled",
    "Segments",
    "SelfAtt",
    "seeds_for",
]
