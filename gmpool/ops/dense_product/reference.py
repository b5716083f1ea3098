"""What dense_product means."""

from dataclasses import dataclass

import torch
from torch import Tensor

WORD = 32  # bits


@dataclass(frozen=True)
class DenseGraphs:
    """B graphs of a set, one after the other; their bits are those of the set.

    ids [B]: their numbers in the set. ptr [B+1]: where the nodes of each begin. A graph may have
    more nodes here than in the set: those are made up, and have no edges, not even to themselves.
    words, word_ptr, node_ptr: see `gmpool.data.constants`.
    """

    ids: Tensor
    ptr: Tensor
    words: Tensor
    word_ptr: Tensor
    node_ptr: Tensor


def dense_product_reference(graphs: DenseGraphs, x: Tensor, scale: Tensor | None = None) -> Tensor:
    """One matrix after the other."""
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
