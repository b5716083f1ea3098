"""The product by PyTorch's operators: graphs are unpacked one by one, as the reference does it.
Correct, and slower than a sparse product."""

from torch import Tensor

from gmpool.ops.dense_product.reference import DenseGraphs, dense_product_reference
from gmpool.ops.wide import wide


def product(graphs: DenseGraphs, x: Tensor, scale: Tensor | None) -> Tensor:
    """x [N, D] -> [N, D]"""
    return dense_product_reference(graphs, wide(x), scale).to(x.dtype)
