"""GLN's encoders: mean-field message passing over atoms and bonds, then a pooling.

b = W_n x + Σ W_e e of its bonds ,  h = relu(b) ,  three times h ← relu(W_c Σ_neighbours h + b)
rows = relu(W_o h)
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from torch import Tensor, nn

from gmpool.data.fixed_batch import FixedBatch
from gmpool.errors import unknown
from gmpool.graph import Segments
from gmpool.graph.batch_edges import BatchEdges, batch_segments
from gmpool.graph.distinct_nodes import DistinctNodes
from gmpool.graph.edges import DerivedEdges
from gmpool.ops.add_bias import affine
from gmpool.ops.sparse import spmm
from gmpool.ops.without_dispatcher import only_values
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


class Graphs:
    """Graphs as encoders read them.

    kinds: of atoms [N]. features: of the kinds [K, F].
    """

    def __init__(
        self, kinds: Tensor, features: Tensor, edges: DerivedEdges, segments: Segments
    ) -> None:
        self.kinds, self.features, self.edges, self.segments = kinds, features, edges, segments
        self._distinct: dict[int, DistinctNodes] = {}

    @classmethod
    def of(cls, batch: FixedBatch, features: Tensor) -> Graphs:
        """features: of the kinds of atoms [K, F]"""
        edges = DerivedEdges(BatchEdges(batch).entries, dtype=features.dtype)
        return cls(batch.x.long(), features, edges, batch_segments(batch))

    @cached_property
    def x(self) -> Tensor:
        """Features of atoms. [N, F]"""
        return self.features.index_select(0, self.kinds)

    def distinct(self, rounds: int) -> DistinctNodes | None:
        """On a CPU, where shapes may depend on the batch; else None."""
        if not (self.kinds.is_cpu and only_values(self.features)):
            return None
        if rounds not in self._distinct:
            pattern = self.edges.entries.pattern
            self._distinct[rounds] = DistinctNodes.of(self.kinds, pattern, rounds)
        return self._distinct[rounds]


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
        distinct, segments = graphs.distinct(self.rounds), graphs.segments
        if distinct is None:
            rows = self._each(graphs)
        elif self.pooling.only_sums:
            rows, segments = self._once(graphs, distinct), distinct.summed(segments)
        else:
            rows = spmm(distinct.nodes, self._once(graphs, distinct))
        vectors, losses = self.pooling(rows, graphs.edges, segments)
        return self.out(vectors), losses

    def _each(self, graphs: Graphs) -> Tensor:
        """A row for each atom. [N, out_dim]"""
        h, b = self._begin(graphs.x)
        for _ in range(self.rounds):
            gathered = graphs.edges.plain.matmul(h)
            h = (gathered @ self.messages.weight.t() + b).relu()
        return affine(h, self.rows.weight, self.rows.bias, relu=True)

    def _once(self, graphs: Graphs, distinct: DistinctNodes) -> Tensor:
        """A row for each state that atoms end in. [U, out_dim]"""
        kinds = graphs.kinds.index_select(0, distinct.first)
        h, b = self._begin(graphs.features.index_select(0, kinds))
        for own, heard in distinct.rounds:
            gathered = spmm(heard, h)
            h = (gathered @ self.messages.weight.t() + b.index_select(0, own)).relu()
        return affine(h, self.rows.weight, self.rows.bias, relu=True)

    def _begin(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(h, b with the bias of messages, which is the same in all rounds)"""
        weight, bias = self.inputs.weight, self.inputs.bias
        return affine(x, weight, bias, relu=True), affine(x, weight, bias + self.messages.bias)
