"""What tests of methods that return a coarse graph ask of it."""

from __future__ import annotations

import torch
from graphs import Batch
from torch import Tensor

from gmpool.graph.edges import Edges
from gmpool.pool.method import Method, Pooled


def run(pool: Method, batch: Batch) -> Pooled:
    edges = Edges.of(batch.edge_index, len(batch.x), batch.x.dtype, batch.weight)
    return pool(batch.x, edges, batch.batch, batch_size=batch.size)


def matrix(pooled: Pooled) -> Tensor:
    """A' [M, M]"""
    return pooled.edges.plain.matmul(torch.eye(len(pooled.x), dtype=torch.float64))
