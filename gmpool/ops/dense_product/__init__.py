"""Products with the adjacency of dense graphs, kept as bits."""

from gmpool.ops.dense_product.dense_graphs import DenseGraphs
from gmpool.ops.dense_product.operator import dense_product
from gmpool.ops.dense_product.reference import dense_product_reference

__all__ = ["DenseGraphs", "dense_product", "dense_product_reference"]
