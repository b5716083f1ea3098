"""The exchange: from the gated rows of a graph's places to its vector, by every pooling.

A pooling is called with (rows [B·n, D], edges, segments) and gives (vectors [B, out_dim], losses of
its own by name). Its keyword-only arguments, other than relations, are its options.
"""

import inspect
from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from gmpool.errors import unknown
from gmpool.graph import Segments
from gmpool.graph.relation_edges import RelationEdges
from gmpool.nn.keeps_options import KeepsOptions
from gmpool.nn.relational import RelationalConv
from gmpool.pool.blocks import GMPool
from gmpool.pool.gmt import GraphMultisetTransformer
from gmpool.pool.mincut import MinCutPool
from gmpool.pool.set2set import Set2Set
from gmpool.tasks.graph_task import keyword_options

Vectors = tuple[Tensor, dict[str, Tensor]]


class Symmetric(KeepsOptions):
    """A sum, mean or maximum over places. They have the same shapes, so that runs with each of them
    can be one stack: which one counts is a number.

    dim: D.
    """

    weights: Tensor

    def __init__(self, dim: int, *, relations: int, kind: str) -> None:
        super().__init__()
        self.out_dim = dim
        chosen = [float(kind == name) for name in ("mean", "sum", "max")]
        self.register_buffer("weights", torch.tensor(chosen), persistent=False)

    def forward(self, rows: Tensor, edges: RelationEdges, segments: Segments) -> Vectors:
        by_place = rows.unflatten(0, (segments.num_graphs, -1))  # [B, n, D]
        total = by_place.sum(1)
        mean, summed, top = self.weights.to(rows.dtype).unbind()
        out = mean * total / by_place.shape[1] + summed * torch.tanh(total)
        return out + top * by_place.amax(1), {}


class Mean(Symmetric):
    """Mean of the places."""

    def __init__(self, dim: int, *, relations: int) -> None:
        super().__init__(dim, relations=relations, kind="mean")


class WideMean(Mean):
    """Mean of rows so wide that the critic has as many parameters as with GMPool_1."""


class Sum(Symmetric):
    """Tanh of the sum over places, as published."""

    def __init__(self, dim: int, *, relations: int) -> None:
        super().__init__(dim, relations=relations, kind="sum")


class Max(Symmetric):
    """Maximum over places; those that share it share its gradient."""

    def __init__(self, dim: int, *, relations: int) -> None:
        super().__init__(dim, relations=relations, kind="max")


class ReadBySet2Set(KeepsOptions):
    """Set2Set: an LSTM that attends to the places in several steps.

    dim: D.
    steps: how often it looks at all places.
    """

    def __init__(self, dim: int, *, relations: int, steps: int = 3) -> None:
        super().__init__()
        self.read = Set2Set(dim, dim, steps=steps)
        self.out_dim = self.read.out_dim

    def forward(self, rows: Tensor, edges: RelationEdges, segments: Segments) -> Vectors:
        return self.read(rows, edges, segments).x, {}


class MeanOfClusters(KeepsOptions):
    """MinCutPool, then the mean over its clusters.

    As each place is shared out wholly, that mean is the sum over places divided by K, whatever the
    clusters are: they act by their losses alone.

    dim: D.
    num_clusters: K.
    cut_weight, orthogonality_weight: of the two losses.
    """

    def __init__(
        self,
        dim: int,
        *,
        relations: int,
        num_clusters: int = 4,
        cut_weight: float = 1.0,
        orthogonality_weight: float = 1.0,
    ) -> None:
        super().__init__()
        self.out_dim = dim
        self.clusters = MinCutPool(
            dim,
            dim,
            num_clusters=num_clusters,
            cut_weight=cut_weight,
            orthogonality_weight=orthogonality_weight,
        )

    def forward(self, rows: Tensor, edges: RelationEdges, segments: Segments) -> Vectors:
        pooled = self.clusters(rows, edges, segments)
        return pooled.x.mean(1), pooled.losses


class OneSeed(KeepsOptions):
    """GMPool_1, its keys and values by relational convolutions.

    Over places its softmax is an attention; over its one seed it is 1, and the pooling a sum of
    values.

    dim: D.
    num_heads: H, by which dim can be divided.
    softmax: "nodes" or "seeds".
    """

    def __init__(
        self, dim: int, *, relations: int, num_heads: int = 4, softmax: str = "nodes"
    ) -> None:
        super().__init__()
        self.out_dim = dim
        conv = partial(RelationalConv, relations=relations)
        self.pooling = GMPool(dim, 1, num_heads=num_heads, conv=conv, softmax=softmax)

    def forward(self, rows: Tensor, edges: RelationEdges, segments: Segments) -> Vectors:
        return self.pooling(rows, edges, segments).x.flatten(1), {}


class Transformer(KeepsOptions):
    """The Graph Multiset Transformer, its first keys and values by relational convolutions.

    dim: D.
    num_seeds: K.
    num_heads: H, by which dim can be divided.
    softmax: "nodes" or "seeds".
    """

    def __init__(
        self,
        dim: int,
        *,
        relations: int,
        num_seeds: int = 4,
        num_heads: int = 4,
        softmax: str = "seeds",
    ) -> None:
        super().__init__()
        self.out_dim = dim
        conv = partial(RelationalConv, relations=relations)
        self.readout = GraphMultisetTransformer(
            dim, dim, num_seeds=num_seeds, num_heads=num_heads, conv=conv, softmax=softmax
        )

    def forward(self, rows: Tensor, edges: RelationEdges, segments: Segments) -> Vectors:
        return self.readout(rows, edges, segments), {}


POOLINGS: Mapping[str, Any] = {
    "mean": Mean,
    "mean-wide": WideMean,
    "sum": Sum,
    "max": Max,
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
    return keyword_options(pooling_of(method), without=("relations", "kind"))


def parameters_of(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())
