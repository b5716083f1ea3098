"""A batch on a chain of clusterings: what one pooling along it needs, and the edges after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gmpool.data.batch import GraphBatch
from gmpool.data.fixed_batch import FixedBatch, under
from gmpool.data.pack import pack
from gmpool.errors import UserError
from gmpool.graph import AnyEdges, Segments
from gmpool.graph.batch_edges import BatchEdges, NotDeclared, batch_segments
from gmpool.graph.matrices import SparseMatrix
from gmpool.ops.sparse import Pattern
from gmpool.pool.haarpool.chain import Level, make_chain
from gmpool.pool.haarpool.chain_cache import chain_of

FixedLevel = Mapping[str, Tensor]
"""What a batch of fixed shape holds of a level (`gmpool.pool.haarpool.fixed_chain`)."""


class ChainEdges(BatchEdges):
    """The coarse graphs after a pooling along a chain, and the poolings that are left."""

    def __init__(self, batch: GraphBatch | FixedBatch, left: Sequence[Any]) -> None:
        """left: each a Level, or of a batch of fixed shape a FixedLevel."""
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
        known = edges.left if isinstance(edges, ChainEdges) else None
        if isinstance(batch, FixedBatch):
            return _fixed_step(batch, _held(batch, levels) if known is None else known)
        return _step(batch, chain_of(batch.graphs, levels) if known is None else known)
    batch = _packed(edges, segments)
    chain = tuple(level.to(batch.graphs.device) for level in make_chain(batch.graphs, levels))
    return _step(batch, chain, segments.order)


def _step(batch: GraphBatch, chain: Sequence[Level], order: Tensor | None = None) -> ChainStep:
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


def _held(batch: FixedBatch, levels: int) -> Sequence[FixedLevel]:
    """The levels that a batch of fixed shape was made with."""
    held = [level for number in range(levels) if (level := under(str(number), batch.more))]
    if len(held) < levels:
        raise NotDeclared(
            f"this batch holds {len(held)} level(s) of a chain, not {levels}: the network says in "
            f"its attribute `chain_levels` how many it pools along"
        )
    return held


def _fixed_step(batch: FixedBatch, left: Sequence[FixedLevel]) -> ChainStep:
    level, coarse = left[0], FixedBatch.of(under("coarse", left[0]))
    basis, cluster = under("basis", level), level["cluster"]
    one_each = torch.arange(batch.num_nodes + 1, device=cluster.device)
    return ChainStep(
        Pattern(level["ends"], level["members"], one_each, cluster),
        level["counts"],
        cluster,
        BatchEdges(FixedBatch.of(basis)).entries if basis else None,
        ChainEdges(coarse, left[1:]),
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
