"""Graphs whose edges have kinds, the same seen from both ends."""

from __future__ import annotations

from typing import NamedTuple

import torch
from graphs import random_batch
from torch import Tensor

from gmpool.graph.matrices import SparseMatrix
from gmpool.ops.sparse import Pattern


class Molecules(NamedTuple):
    pattern: Pattern
    code: Tensor  # [E]
    weight: Tensor  # [E]


def with_kinds(edge_index: Tensor, n: int, kinds: int, seed: int) -> Molecules:
    """Edges that go both ways, each with a kind and a weight, the same seen from both ends."""
    adjacency, _ = SparseMatrix.from_edge_index(edge_index, n)
    p = adjacency.pattern
    generator = torch.Generator().manual_seed(seed)
    kind = torch.randint(kinds, (n, n), generator=generator)
    weight = torch.rand(n, n, generator=generator, dtype=torch.float64)
    pair = torch.minimum(p.rows, p.col), torch.maximum(p.rows, p.col)
    pattern = Pattern(p.rowptr, p.col, p.rowptr, p.col)
    return Molecules(pattern, kind[pair].to(torch.uint8), weight[pair])


def random_molecules(sizes: list[int], kinds: int, seed: int = 0) -> Molecules:
    batch = random_batch(sizes, 1, seed=seed, density=0.4)
    return with_kinds(batch.edge_index, sum(sizes), kinds, seed)


def random_tree(n: int, kinds: int, seed: int) -> Molecules:
    """All trees have as many edges."""
    generator = torch.Generator().manual_seed(seed)
    child = torch.arange(1, n)
    parent = (torch.rand(n - 1, generator=generator) * child).long()
    edge = torch.stack([child, parent])
    return with_kinds(torch.cat([edge, edge.flip(0)], 1), n, kinds, seed)
