"""From the nodes of each graph to a few rows and back: every pooling method, one interface.

A compression is called with (x [N, D], edges, segments, ids [B]) and gives either Clusters, whose
rows come back by the assignment, or Kept, whose rows come back to the places they were taken from.
Both say how far the adjacency that they stand for is from the true one.
"""

import inspect
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from gmpool.errors import unknown
from gmpool.graph.coarse_edges import CoarseEdges
from gmpool.graph.edges import AnyEdges
from gmpool.nn.clock import RandomAssignment
from gmpool.nn.conv import GCNConv
from gmpool.ops.grouped import collect, spread
from gmpool.ops.segment import Segments, segment_sum
from gmpool.ops.sparse import spmm
from gmpool.pool import METHODS
from gmpool.pool.blocks import GMPool
from gmpool.pool.method import GraphSizes, Pooled
from gmpool.pool.structpool import StructPool
from gmpool.tasks.graph_task import keyword_options
from gmpool.tasks.reconstruct.settings import AutoencoderConfig


@dataclass(frozen=True)
class Clusters:
    """K rows of every graph, and how much of each node went to each of them.

    blocks: A_pool of each graph as the method says it is; None: Cᵀ A C.
    """

    rows: Tensor  # [B, K, D]
    assignment: Tensor  # C [N, K]
    blocks: Tensor | None = None  # [B, K, K]
    losses: dict[str, Tensor] = field(default_factory=dict)

    def unpool(self, segments: Segments) -> Tensor:
        """C X_pool. [N, D]"""
        return spread(self.assignment[:, None], self.rows[None], segments)

    def unpool_into(self, conv: GCNConv, edges: AnyEdges, segments: Segments) -> Tensor:
        """Â (C X_pool) Wᵀ + b, a convolution of what is unpooled. [N, D']

        With fewer clusters than columns it is made as (Â C) (X_pool Wᵀ) + b: K columns are
        propagated instead of D, and K rows of a graph are mapped instead of n.
        """
        if self.assignment.shape[1] >= conv.weight.shape[1]:
            return conv(self.unpool(segments), edges)
        c = edges.gcn.matmul(self.assignment)  # Â C [N, K]
        rows = nn.functional.linear(self.rows, conv.weight)
        return spread(c[:, None], rows[None], segments).add_(conv.bias)

    def adjacency_errors(self, edges: AnyEdges, segments: Segments) -> Tensor:
        """Mean of (A − C P Cᵀ)² over the n² entries of each graph, with P = A_pool. [B]

        Nothing n × n is made: ‖A − C P Cᵀ‖² = ‖A‖² − 2 ⟨Cᵀ A C, P⟩ + ⟨G P G, P⟩ with G = Cᵀ C.
        """
        c = self.assignment
        coarse = edges.coarsened(c, segments).blocks  # Cᵀ A C
        p = coarse if self.blocks is None else self.blocks
        gram = collect(c[:, None], c, segments)[0]  # G [B, K, K]
        rest = ((gram @ p @ gram - 2 * coarse) * p).sum((1, 2))
        return _per_entry(edges.squared_sum(segments).to(c.dtype) + rest, segments)


@dataclass(frozen=True)
class Kept:
    """The rows of the nodes that were kept. What stands for A is its part among them."""

    rows: Tensor  # [M, D]
    kept: Tensor  # [M]: the node that each row was; rows that only fill up repeat a made-up one
    losses: dict[str, Tensor] = field(default_factory=dict)

    def unpool(self, segments: Segments) -> Tensor:
        """Kept rows in their places, zeros elsewhere (Graph U-Net). [N, D]"""
        return self._in_places(self.rows, segments)

    def unpool_into(self, conv: GCNConv, edges: AnyEdges, segments: Segments) -> Tensor:
        """A convolution of what is unpooled. [N, D']"""
        return conv(self.unpool(segments), edges)

    def adjacency_errors(self, edges: AnyEdges, segments: Segments) -> Tensor:
        """Mean of A² over the n² entries of each graph, of those that are lost. [B]"""
        pattern, weight = edges.entries.pattern, edges.entries.weight
        there = self._in_places(self.rows.new_ones(self.rows.shape[0], 1), segments)
        among = there * spmm(pattern, there, None if weight is None else weight.square())
        lost = edges.squared_sum(segments).to(there.dtype) - segment_sum(among, segments)[:, 0]
        return _per_entry(lost, segments)

    def _in_places(self, rows: Tensor, segments: Segments) -> Tensor:
        everywhere = rows.new_zeros(segments.batch.shape[0], rows.shape[1])
        return everywhere.scatter(0, self.kept.long()[:, None].expand_as(rows), rows)


Compressed = Clusters | Kept


def _per_entry(squared: Tensor, segments: Segments) -> Tensor:
    return squared / segments.counts.clamp(min=1).to(squared.dtype).square()


class GMPoolClusters(nn.Module):
    """GMPool_k on the graph with one head, whose attention is the assignment, and a linear map."""

    def __init__(self, dim: int, num_seeds: int, options: dict[str, Any]) -> None:
        super().__init__()
        self.pool = GMPool(dim, num_seeds, **options)
        self.linear = nn.Linear(dim, dim)

    def forward(self, x: Tensor, edges: AnyEdges, segments: Segments, ids: Tensor) -> Compressed:
        pooled = self.pool(x, edges, segments, return_assignment=True)
        return Clusters(self.linear(pooled.x), pooled.attention.squeeze(1))


class MethodRows(nn.Module):
    """A method of the comparison that makes a coarse graph."""

    def __init__(self, name: str, dim: int, sizes: GraphSizes, options: dict[str, Any]) -> None:
        super().__init__()
        self.pool = METHODS[name](dim, dim, sizes=sizes, **options)

    def forward(self, x: Tensor, edges: AnyEdges, segments: Segments, ids: Tensor) -> Compressed:
        pooled: Pooled = self.pool(x, edges, segments)
        if pooled.kept is not None:
            return Kept(pooled.x, pooled.kept, pooled.losses)
        assert pooled.assignment is not None
        assert isinstance(pooled.edges, CoarseEdges)
        return Clusters(pooled.x, pooled.assignment, pooled.edges.blocks, pooled.losses)


class StructPoolClusters(nn.Module):
    """StructPool's assignment; its readout, which makes graph vectors, has no part in it."""

    def __init__(self, dim: int, sizes: GraphSizes, options: dict[str, Any]) -> None:
        super().__init__()
        self.pool = StructPool(dim, dim, sizes=sizes, **options)
        self.pool.readout = None

    def forward(self, x: Tensor, edges: AnyEdges, segments: Segments, ids: Tensor) -> Compressed:
        return _clusters(x, self.pool.assign(x, edges, segments), segments)


class RandomClusters(nn.Module):
    """Clusters that are drawn and never learned."""

    def __init__(self, num_clusters: int) -> None:
        super().__init__()
        self.assign = RandomAssignment(num_clusters)

    def forward(self, x: Tensor, edges: AnyEdges, segments: Segments, ids: Tensor) -> Compressed:
        return _clusters(x, self.assign(ids, segments, x.dtype), segments)


def _clusters(x: Tensor, c: Tensor, segments: Segments) -> Clusters:
    """X_pool = Cᵀ X and A_pool = Cᵀ A C."""
    return Clusters(collect(c[:, None].to(x.dtype), x, segments)[0], c)


# What is made of a part of a method, and which options of it have no meaning here: the ratio is the
# configuration's own, and an assignment comes from one head. Other methods are taken whole.
_MADE_OF: dict[str, tuple[Any, frozenset[str]]] = {
    "gmt": (GMPool, frozenset({"num_heads"})),
    "structpool": (StructPool, frozenset({"ratio", "sizes", "readout"})),
    "random": (object, frozenset()),
}
COMPRESSIONS = (*(name for name in METHODS if METHODS[name].rebuilds), "random")
LEARNS_ADJACENCY = frozenset(name for name in METHODS if "a" in METHODS[name].rebuilds)
"""Methods whose A_rec depends on weights smoothly; of the others there is nothing to learn."""


def compression_options(method: str) -> dict[str, inspect.Parameter]:
    """The options of a method in a reconstruction."""
    if method not in COMPRESSIONS:
        raise unknown("method that reconstructs", method, COMPRESSIONS)
    whole = frozenset({"ratio", "sizes"})
    made_of, leave_out = _MADE_OF.get(method) or (METHODS[method], whole)
    return keyword_options(made_of, without=leave_out)


def make_compression(config: AutoencoderConfig, sizes: GraphSizes) -> nn.Module:
    """The compression of a method from hidden_dim to rows of hidden_dim."""
    known, dim = compression_options(config.method), config.hidden_dim
    for key in config.pool:
        if key not in known:
            raise unknown(f"option of {config.method} in a reconstruction", key, known)
    options = dict(config.pool)
    if config.method == "gmt":
        return GMPoolClusters(dim, sizes.share(config.ratio), options)
    if config.method == "random":
        return RandomClusters(sizes.share(config.ratio))
    options["ratio"] = config.ratio
    if config.method == "structpool":
        return StructPoolClusters(dim, sizes, options)
    return MethodRows(config.method, dim, sizes, options)
