"""Products with the adjacency of dense graphs, kept as bits."""

from gmpool.ops.dense_product.operator import dense_product
from gmpool.ops.dense_product.reference import DenseGraphs

__all__ = ["DenseGraphs", "dense_product"]
