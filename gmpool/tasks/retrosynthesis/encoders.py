"""GLN's encoders: mean-field message passing over atoms and bonds, then a pooling.

b = W_n x + Σ W_e e of its bonds ,  h = relu(b) ,  three times h ← relu(W_c Σ_neighbours h + b)
rows = relu(W_o h)
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

from torch import Tensor, nn

from gmpool.data.fixed_batch import FixedBatch
from gmpool.errors import unknown
from gmpool.graph import Segments
from gmpool.graph.batch_edges import BatchEdges, batch_segments
from gmpool.graph.edges import DerivedEdges
from gmpool.ops.add_bias import affine
from gmpool.tasks.graph_task import keyword_options
from gmpool.tasks.readouts import (
    MaxOfNodes,
    MeanOfClusters,
    MeanOfNodes,
    OneSeed,
    ReadBySet2Set,
    SumOfNodes,
    Transformer,
)

POOLINGS: Mapping[str, Any] = {
    "mean": MeanOfNodes,
    "sum": SumOfNodes,
    "max": MaxOfNodes,
    "set2set": ReadBySet2Set,
    "mincut": MeanOfClusters,
    "gmpool": OneSeed,
    "gmt": Transformer,
}
"""By the name that --method has."""


def pooling_of(method: str) -> Any:
    if method not in POOLINGS:
        raise unknown("method", method, POOLINGS)
    return POOLINGS[method]


def pooling_options(method: str) -> dict[str, inspect.Parameter]:
    return keyword_options(pooling_of(method), without=("conv",))


class Graphs(NamedTuple):
    """Graphs as encoders read them. x: features of atoms [N, F]."""

    x: Tensor
    edges: DerivedEdges
    segments: Segments

    @classmethod
    def of(cls, batch: FixedBatch, features: Tensor) -> Graphs:
        """features: of the kinds of atoms [K, F]"""
        edges = DerivedEdges(BatchEdges(batch).entries, dtype=features.dtype)
        x = features.index_select(0, batch.x.long())
        return cls(x, edges, batch_segments(batch))


class Encoder(nn.Module):
    """A vector for each graph.

    features: F. dim: of messages. out_dim: of rows, and of vectors. pooling: by its name. options:
    of the pooling.
    """

    reads = frozenset({"entries"})

    def __init__(
        self,
        features: int,
        dim: int,
        out_dim: int,
        *,
        rounds: int = 3,
        pooling: str = "mean",
        options: Mapping[str, Any] = {},
    ) -> None:
        super().__init__()
        self.rounds = rounds
        self.inputs = nn.Linear(features, dim)
        self.messages = nn.Linear(dim, dim)
        self.rows = nn.Linear(dim, out_dim)
        self.pooling = pooling_of(pooling)(out_dim, conv="gcn", **options)
        width = self.pooling.out_dim
        self.out = nn.Identity() if width == out_dim else nn.Linear(width, out_dim)

    def forward(self, graphs: Graphs) -> tuple[Tensor, dict[str, Tensor]]:
        """(vectors [B, out_dim], the pooling's own losses)"""
        weight, bias = self.inputs.weight, self.inputs.bias
        h = affine(graphs.x, weight, bias, relu=True)
        b = affine(graphs.x, weight, bias + self.messages.bias)  # for all rounds
        for _ in range(self.rounds):
            gathered = graphs.edges.plain.matmul(h)
            h = (gathered @ self.messages.weight.t() + b).relu()
        rows = affine(h, self.rows.weight, self.rows.bias, relu=True)
        vectors, losses = self.pooling(rows, graphs.edges, graphs.segments)
        return self.out(vectors), losses
