"""Clusters drawn at random: a softmax of standard normal numbers, which nothing trains.

Each number is a hash of (seed, step, graph, node, cluster), as dropout's are: it depends on nothing
else that runs in the same program, nor on the other graphs of a batch.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from gmpool.nn.clock import Clocked, uniform
from gmpool.ops.segment import Segments

ROOM = 2**40
"""Numbers that one graph may need; graphs lie that far apart."""


class RandomAssignment(Clocked):
    """Shares C [N, K] of each node, other ones for every graph. They are drawn anew in every step
    of a training, and are always the same in evaluation.

    num_clusters: K.
    """

    def __init__(self, num_clusters: int) -> None:
        super().__init__(keep_seed=True)  # an evaluation must find the same clusters again
        self.num_clusters = num_clusters

    def forward(self, ids: Tensor, segments: Segments, dtype: torch.dtype) -> Tensor:
        """ids [B]: the numbers of the graphs in their set; nodes lie graph after graph. [N, K]"""
        key, K = self.tick() if self.training else self.seed, self.num_clusters
        batch = segments.batch
        node = torch.arange(batch.shape[0], device=batch.device)
        node = node - segments.ptr.index_select(0, batch)  # within its graph
        first = ids.index_select(0, batch) * ROOM + node * K  # [N]
        cluster = torch.arange(K, device=batch.device)
        return normal(key, first[:, None] + cluster).to(dtype).softmax(1)


def normal(key: Tensor, place: Tensor) -> Tensor:
    """Standard normal numbers, one for each place, by hashing it with the key. float32"""
    return from_uniform(uniform(key, place))


def from_uniform(u: Tensor) -> Tensor:
    """Normal numbers by the inverse of their distribution; u is a multiple of 2^-24 in [0, 1).

    Half a step is added, so that -1 and 1, where the inverse has no end, are never reached. In this
    order every sum is exact in float32.
    """
    return math.sqrt(2) * torch.erfinv(2 * u - 1 + 2.0**-24)
