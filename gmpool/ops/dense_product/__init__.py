"""Products with the adjacency of dense graphs, kept as bits."""

from gmpool.ops.dense_product.dense_graphs import DenseGraphs
from gmpool.ops.dense_product.operator import dense_product

__all__ = ["DenseGraphs", "dense_product"]
