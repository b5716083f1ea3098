"""Products with the adjacency of dense graphs, kept as bits: A x, or Â x = S (A + I) S x.

Linear and symmetric: its derivative is itself, applied to the gradient. On a GPU with Triton the
bits become tiles that matrix units multiply with (triton_dense.py). Elsewhere graphs are unpacked
one by one: correct, and slower than a sparse product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gmpool.ops import gpu
from gmpool.ops.replicas import flat, lead, union_ptr
from gmpool.ops.sparse import wide

WORD = 32  # bits


@dataclass(frozen=True)
class DenseGraphs:
    """B graphs of a set, one after the other; their bits are those of the set.

    ids [B]: their numbers in the set. ptr [B+1]: where the nodes of each begin. A graph may have
    more nodes here than in the set: those are made up, and have no edges, not even to themselves.
    words, word_ptr, node_ptr: see `gmpool.data.adjacency_bits`.
    """

    ids: Tensor
    ptr: Tensor
    words: Tensor
    word_ptr: Tensor
    node_ptr: Tensor


def dense_product(graphs: DenseGraphs, x: Tensor, scale: Tensor | None = None) -> Tensor:
    """A x, or with the diagonal of S for all nodes of the set S (A + I) S x. [N, D] -> [N, D]"""
    g = graphs
    return _dense_product(x, scale, g.ids, g.ptr, g.words, g.word_ptr, g.node_ptr)


def dense_product_reference(graphs: DenseGraphs, x: Tensor, scale: Tensor | None = None) -> Tensor:
    """What dense_product means: one matrix after the other."""
    ptr, parts = graphs.ptr.tolist(), []
    for b, g in enumerate(graphs.ids.tolist()):
        first, end = graphs.node_ptr[g : g + 2].tolist()
        n = end - first
        rows, made_up = x[ptr[b] : ptr[b + 1]].split([n, ptr[b + 1] - ptr[b] - n])
        a = _unpacked(graphs.words[int(graphs.word_ptr[g]) :], n).to(x.dtype)
        if scale is not None:
            s = scale[first:end].to(x.dtype)
            a = s[:, None] * (a + torch.eye(n, dtype=x.dtype, device=x.device)) * s
        parts += [a @ rows, torch.zeros_like(made_up)]
    return torch.cat(parts)


def _unpacked(words: Tensor, n: int) -> Tensor:
    """The matrix whose words come first. [n, n]"""
    rows = -(-n // WORD)
    bits = torch.arange(WORD, dtype=words.dtype, device=words.device)
    ones = (words[: rows * n].view(rows, 1, n) >> bits[:, None]) & 1
    return ones.flatten(0, 1)[:n].t()


@torch.library.custom_op("gmpool::dense_product", mutates_args=())
def _dense_product(
    x: Tensor,
    scale: Tensor | None,
    ids: Tensor,
    ptr: Tensor,
    words: Tensor,
    word_ptr: Tensor,
    node_ptr: Tensor,
) -> Tensor:
    if x.numel() == 0:
        return torch.zeros_like(x)
    graphs = DenseGraphs(ids, ptr, words, word_ptr, node_ptr)
    if gpu.usable(x):
        from gmpool.ops import triton_dense

        return triton_dense.product(graphs, x, scale)
    return dense_product_reference(graphs, wide(x), scale).to(x.dtype)


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
