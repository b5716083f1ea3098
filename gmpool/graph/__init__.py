"""What a layer is given: the edges of a batch, the graph of each node, the columns of features."""

from gmpool.graph.columns import Columns
from gmpool.graph.edges import AnyEdges, Edges
from gmpool.ops.segment import Segments

__all__ = ["AnyEdges", "Columns", "Edges", "Segments"]
