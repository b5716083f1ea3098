"""Small random batches for tests of what does not depend on a dataset."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass
class Batch:
    x: Tensor  # [N, D]
    edge_index: Tensor  # [2, E], both directions unless directed
    batch: Tensor  # [N]
    size: int  # number of graphs
    weight: Tensor | None = None  # [E]

    def alone(self, b: int) -> Batch:
        """Graph b by itself."""
        nodes = (self.batch == b).nonzero()[:, 0]
        renumber = torch.full((len(self.batch),), -1)
        renumber[nodes] = torch.arange(len(nodes))
        mine = self.batch[self.edge_index[0]] == b
        weight = None if self.weight is None else self.weight[mine]
        edges = renumber[self.edge_index[:, mine]]
        return Batch(self.x[nodes], edges, torch.zeros(len(nodes), dtype=torch.long), 1, weight)

    def permuted(self, order: Tensor, edge_order: Tensor) -> Batch:
        """The same graphs with nodes and edges in another order; batch becomes unsorted."""
        place = order.argsort()
        weight = None if self.weight is None else self.weight[edge_order]
        edges = place[self.edge_index[:, edge_order]]
        return Batch(self.x[order], edges, self.batch[order], self.size, weight)

    def dense(self) -> np.ndarray:
        """A [N, N] with A[i, j] the weight of j -> i."""
        A = np.zeros((len(self.x), len(self.x)))
        weight = torch.ones(self.edge_index.shape[1]) if self.weight is None else self.weight
        for j, i, w in zip(*self.edge_index.tolist(), weight.tolist(), strict=True):
            A[i, j] += w
        return A


def random_batch(
    sizes: list[int],
    dim: int,
    *,
    seed: int = 0,
    density: float = 0.5,
    weighted: bool = False,
    directed: bool = False,
    dtype: torch.dtype = torch.float64,
) -> Batch:
    """Graphs of the given sizes; a size may be 0 or 1, and nodes may be isolated."""
    generator = torch.Generator().manual_seed(seed)
    sources, targets, start = [], [], 0
    for n in sizes:
        has = torch.rand(n, n, generator=generator) < density
        has = has.fill_diagonal_(False)
        if not directed:
            has = has.triu() | has.triu().t()
        i, j = has.nonzero(as_tuple=True)
        sources.append(i + start)
        targets.append(j + start)
        start += n
    edge_index = torch.stack([torch.cat(sources), torch.cat(targets)])
    batch = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    x = torch.randn(start, dim, generator=generator, dtype=dtype)
    weight = None
    if weighted:
        weight = 0.5 + torch.rand(edge_index.shape[1], generator=generator, dtype=dtype)
    return Batch(x, edge_index, batch, len(sizes), weight)
