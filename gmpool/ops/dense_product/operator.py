"""Products with the adjacency of dense graphs, kept as bits: A x, or Â x = S (A + I) S x.

Linear and symmetric: its derivative is itself, applied to the gradient. On a GPU with Triton the
bits become tiles that matrix units multiply with.
"""

from typing import Any

import torch
from torch import Tensor

from gmpool.ops.choice import serving
from gmpool.ops.dense_product.reference import DenseGraphs
from gmpool.ops.replicas import flat, lead, union_ptr


def dense_product(graphs: DenseGraphs, x: Tensor, scale: Tensor | None = None) -> Tensor:
    """A x, or with the diagonal of S for all nodes of the set S (A + I) S x. [N, D] -> [N, D]"""
    g = graphs
    return _dense_product(x, scale, g.ids, g.ptr, g.words, g.word_ptr, g.node_ptr)


@torch.library.custom_op("gmpool::dense_product", mutates_args=())
def _dense_product(
    x: Tensor, scale: Tensor | None, ids: Tensor, ptr: Tensor, words: Tensor, word_ptr: Tensor,
    node_ptr: Tensor,
) -> Tensor:  # fmt: skip
    if x.numel() == 0:
        return torch.zeros_like(x)
    graphs = DenseGraphs(ids, ptr, words, word_ptr, node_ptr)
    return serving(x, "dense_product").product(graphs, x, scale)


@_dense_product.register_fake
def _(x: Tensor, *rest: Any) -> Tensor:
    return x.new_empty(x.shape)


def _save(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[1:])


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    return _dense_product(grad, *ctx.saved_tensors), None, None, None, None, None, None


_dense_product.register_autograd(_backward, setup_context=_save)


@_dense_product.register_vmap
def _(
    info: Any, in_dims: Any, x: Tensor, scale: Any, ids: Tensor, ptr: Tensor, *bits: Tensor
) -> tuple[Tensor, int]:
    """R batches of one set are one batch: graphs keep their numbers, and the bits their place."""
    R, (x_dim, scale_dim, ids_dim, ptr_dim, *bits_dims) = info.batch_size, in_dims
    assert all(dim is None for dim in (scale_dim, *bits_dims)), "replicas have one set"
    N = lead(x, x_dim, R).shape[1]
    union = flat(ids, ids_dim, R), union_ptr(ptr, ptr_dim, R, N)
    y = _dense_product(flat(x, x_dim, R), scale, *union, *bits)
    return y.unflatten(0, (R, N)), 0
