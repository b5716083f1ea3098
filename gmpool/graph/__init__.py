"""What a layer is given: the edges of a batch, the graph of each node, the columns of features."""

from gmpool.graph.columns import Columns, OneHot, plain
from gmpool.graph.edges import AnyEdges, DerivedEdges, Edges
from gmpool.ops.segment import Segments

__all__ = ["AnyEdges", "Columns", "DerivedEdges", "Edges", "OneHot", "Segments", "plain"]
