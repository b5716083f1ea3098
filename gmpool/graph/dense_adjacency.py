"""A or Â of dense graphs, whose entries nobody lists."""

from __future__ import annotations

import torch
from torch import Tensor

from gmpool.graph.edges import Adjacency
from gmpool.ops.dense_product import DenseGraphs, dense_product
from gmpool.ops.sparse import Pattern


class EntriesNotKept(RuntimeError):
    """Someone asked a DenseAdjacency for the list of its entries."""


class DenseAdjacency(Adjacency):
    """A or Â as an operator alone: it multiplies, and nobody has made a list of its entries."""

    graphs: DenseGraphs
    scale: Tensor | None

    def __init__(self, graphs: DenseGraphs, scale: Tensor | None = None) -> None:
        """scale: S of Â; None is A."""
        vars(self).update(graphs=graphs, scale=scale)

    def matmul(self, x: Tensor) -> Tensor:
        """[N, D] -> [N, D]"""
        return dense_product(self.graphs, x, self.scale)

    def squares(self, num_nodes: int) -> Tensor:
        """Of A: its entries are their own squares. [N, 1]"""
        assert self.scale is None
        return self.matmul(torch.ones(num_nodes, 1, device=self.graphs.words.device))

    @property
    def transposed(self) -> Adjacency:
        return self

    @property
    def pattern(self) -> Pattern:
        raise EntriesNotKept

    @property
    def weight(self) -> Tensor | None:
        raise EntriesNotKept
