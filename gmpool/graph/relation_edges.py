"""Edges of several kinds among the nodes of graphs that have n nodes each, as dense weights."""

import torch
from torch import Tensor

from gmpool.graph.coarse_edges import CoarseEdges


class RelationEdges(CoarseEdges):
    """B graphs with n nodes each and T kinds of weighted edges, through which gradients flow: a
    network may have made them. As edges of one kind they are the sum over kinds.

    relations: [B, T, n, n]; entry (i, j) is the weight of j -> i.
    """

    def __init__(self, relations: Tensor) -> None:
        super().__init__(relations.sum(1))
        self.relations = relations

    def propagated(self, x: Tensor) -> Tensor:
        """Each node's own row, and for each kind the weighted sum over its neighbours, side by
        side: [x | A_1 x | … | A_T x]. [B·n, D] -> [B·n, (1 + T)·D]"""
        B, T, n, _ = self.relations.shape
        rows = x.reshape(B, n, -1)
        summed = self.relations.reshape(B, T * n, n) @ rows  # [B, T·n, D]
        by_node = summed.unflatten(1, (T, n)).transpose(1, 2).flatten(2)  # [B, n, T·D]
        return torch.cat([rows, by_node], dim=2).flatten(0, 1)
