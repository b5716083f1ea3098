"""A batch on a chain of clusterings: what one pooling along it needs, and the edges after it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gmpool.data.batch import GraphBatch
from gmpool.data.pack import pack
from gmpool.errors import UserError
from gmpool.graph import AnyEdges, Segments
from gmpool.graph.batch_edges import BatchEdges, batch_segments
from gmpool.graph.matrices import SparseMatrix
from gmpool.ops.sparse import Pattern
from gmpool.pool.haarpool.chain import Chain, make_chain
from gmpool.pool.haarpool.chain_cache import chain_of


class ChainEdges(BatchEdges):
    """The coarse graphs after a pooling along a chain, and the poolings that are left."""

    def __init__(self, batch: GraphBatch, left: Chain) -> None:
        super().__init__(batch)
        self.left = left


@dataclass(frozen=True)
class ChainStep:
    """One pooling of N nodes to N' clusters.

    clusters: Cᵀ, the N' × N matrix of ones that sums nodes into clusters.
    counts: how many nodes each cluster has. [N']
    cluster: the cluster of each node. [N]
    basis: Bᵀ of the coarse graphs, N' × N'; None where it is the identity.
    edges, segments: the coarse graphs.
    """

    clusters: Pattern
    counts: Tensor
    cluster: Tensor
    basis: SparseMatrix | None
    edges: ChainEdges
    segments: Segments


def chain_step(edges: AnyEdges, segments: Segments, levels: int | None) -> ChainStep:
    """The next pooling of a batch along its chain.

    levels: how many poolings there are from here to one row per graph. Edges that a pooling along
    a chain returned know it, and then it may be None; for other edges None is 3.

    The chain of a packed set is made once for the whole set, and a batch of it by index arithmetic.
    Edges that do not come from a packed set are packed here, graph by graph where a graph is not
    among those last seen (`gmpool.pool.haarpool.clustering`).
    """
    if levels is not None and levels < 1:
        raise UserError(f"a chain has at least one pooling, got levels={levels}")
    if isinstance(edges, ChainEdges) and (not edges.left or levels not in (None, len(edges.left))):
        wanted = "one more" if levels is None else str(levels)
        raise UserError(
            f"the chain of these graphs has {len(edges.left)} pooling(s) left, not {wanted}; "
            f"say at the first pooling how many there are, with levels="
        )
    levels = 3 if levels is None else levels
    if isinstance(edges, BatchEdges):
        batch = edges.batch
        assert isinstance(batch, GraphBatch), "chains are of sets, and replicas cannot be stacked"
        left = edges.left if isinstance(edges, ChainEdges) else chain_of(batch.graphs, levels)
        return _step(batch, left)
    batch = _packed(edges, segments)
    chain = tuple(level.to(batch.graphs.device) for level in make_chain(batch.graphs, levels))
    return _step(batch, chain, segments.order)


def _step(batch: GraphBatch, chain: Chain, order: Tensor | None = None) -> ChainStep:
    """order: where the batch's nodes lie among x's rows, when not graph after graph. [N]"""
    level, coarse = chain[0], GraphBatch(chain[0].graphs, batch.ids)
    counts = level.counts.index_select(0, coarse.node_ids)
    ends = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    number = batch.batch
    cluster = coarse.ptr.index_select(0, number) + level.cluster.index_select(0, batch.node_ids)
    members = batch.ptr.index_select(0, number) + level.members.index_select(0, batch.node_ids)
    if order is not None:
        cluster = torch.empty_like(cluster).index_copy(0, order, cluster)
        members = order.index_select(0, members)
    one_each = torch.arange(len(cluster) + 1, device=cluster.device)
    basis = None if level.basis is None else GraphBatch(level.basis, batch.ids)
    return ChainStep(
        Pattern(ends, members, one_each, cluster),
        counts,
        cluster,
        None if basis is None else BatchEdges(basis).entries,
        ChainEdges(coarse, chain[1:]),
        batch_segments(coarse),
    )


def _packed(edges: AnyEdges, segments: Segments) -> GraphBatch:
    """The graphs of a batch as a set of their own."""
    source, target = edges.edge_index
    crossing = segments.batch.index_select(0, source) != segments.batch.index_select(0, target)
    if bool(crossing.any()):
        edge = edges.edge_index[:, crossing][:, 0].tolist()
        raise UserError(f"edge {edge[0]} -> {edge[1]} joins two graphs of the batch; see batch")
    order = segments.order
    place = torch.empty_like(order).index_copy(0, order, torch.arange(len(order)).to(order))
    weight = edges.edge_weight
    graphs = pack(
        name="batch",
        sizes=segments.counts.cpu(),
        source=place.index_select(0, source).cpu(),
        target=place.index_select(0, target).cpu(),
        edge_weight=None if weight is None else weight.detach().float().cpu(),
    )
    return GraphBatch(graphs.to(order.device), torch.arange(segments.num_graphs))
