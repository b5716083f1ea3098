"""Graphs in every form that edges come in, each beside the dense matrix that it stands for."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from graphs import Batch, random_batch
from torch import Tensor

from gmpool.data import GraphBatch, PackedGraphs
from gmpool.data.fixed_batch import Bounds, FixedBatch, FixedBatches
from gmpool.data.pack import pack
from gmpool.graph.batch_edges import BatchEdges, batch_segments
from gmpool.graph.coarse_edges import CoarseEdges
from gmpool.graph.edges import AnyEdges, DerivedEdges, Edges
from gmpool.graph.matrices import SparseMatrix
from gmpool.ops.segment import Segments
from gmpool.pool.haarpool.method import HaarPool

SIZES = [5, 1, 0, 4]


@dataclass
class Case:
    """Nodes from len(a) on are made up, and so are graphs from `graphs` on."""

    edges: AnyEdges
    a: Tensor  # [n, n]
    segments: Segments
    graphs: int
    keeps_loops: bool = True  # in Â a loop stays as it is, instead of gaining 1
    lists_entries: bool = True

    @property
    def gcn(self) -> Tensor:
        """Â [n, n]"""
        loops = torch.ones(len(self.a), dtype=self.a.dtype)
        if self.keeps_loops:
            loops = (self.a.diagonal() == 0).to(self.a.dtype)
        a = self.a + torch.diag(loops)
        scale = a.sum(1).rsqrt()
        return scale[:, None] * a * scale[None, :]

    def of_graph(self, b: int) -> Tensor:
        """The rows of one graph."""
        return self.segments.order[self.segments.ptr[b] : self.segments.ptr[b + 1]]


def packed(batch: Batch, **features: Tensor) -> PackedGraphs:
    return pack(
        name="random",
        sizes=torch.bincount(batch.batch, minlength=batch.size),
        source=batch.edge_index[0],
        target=batch.edge_index[1],
        edge_weight=None if batch.weight is None else batch.weight.float(),
        **features,
    )


def from_edge_index(*, weighted: bool, directed: bool = True) -> Case:
    """Nodes and edges in any order, some nodes with loops."""
    batch = random_batch(SIZES, 1, weighted=weighted, directed=directed)
    loops = torch.tensor([[0, 6], [0, 6]])
    batch.edge_index = torch.cat([batch.edge_index, loops], dim=1)
    if weighted:
        batch.weight = torch.cat([batch.weight, torch.tensor([2.0, 0.5], dtype=torch.float64)])
    torch.manual_seed(0)
    batch = batch.permuted(torch.randperm(10), torch.randperm(batch.edge_index.shape[1]))
    edges = Edges(batch.edge_index, 10, edge_weight=batch.weight, dtype=torch.float64)
    segments = Segments.from_batch(batch.batch, 10, None, batch.size)
    return Case(edges, torch.from_numpy(batch.dense()), segments, batch.size)


def from_a_set(*, weighted: bool, directed: bool) -> Case:
    batch = random_batch(SIZES, 1, weighted=weighted, directed=directed)
    made = GraphBatch(packed(batch), range(batch.size))
    a = torch.from_numpy(batch.dense()).float()
    return Case(BatchEdges(made), a, batch_segments(made), batch.size)


def of_fixed_shape(*, dense: bool) -> Case:
    """With three nodes and some entries more than there are; with features unless they are bits."""
    batch = random_batch(SIZES, 1)
    features = {} if dense else {"edge_float": torch.rand(batch.edge_index.shape[1], 2)}
    graphs, ids = packed(batch, **features), torch.arange(4)[None]
    batches = FixedBatches(graphs, plain=True, dense=dense)
    bounds = Bounds(*(n + 3 for n in batches.bounds(ids)))
    made = first_replica(batches.make(ids, bounds))
    a = torch.from_numpy(batch.dense()).float()
    return Case(BatchEdges(made), a, batch_segments(made), 4, lists_entries=not dense)


def first_replica(batch: FixedBatch) -> FixedBatch:
    return batch.with_({name: tensor[0] for name, tensor in batch.tensors().items()})


def derived(*, weighted: bool) -> Case:
    case = from_edge_index(weighted=weighted)
    entries, _ = SparseMatrix.from_edge_index(
        case.edges.edge_index, case.edges.num_nodes, case.edges.edge_weight
    )
    edges = DerivedEdges(entries, dtype=torch.float64)
    return Case(edges, case.a, case.segments, case.graphs)


def coarse() -> Case:
    blocks = torch.rand(3, 4, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    segments = Segments.uniform(3, 4)
    return Case(CoarseEdges(blocks), torch.block_diag(*blocks), segments, 3, keeps_loops=False)


def along_a_chain() -> Case:
    """The clusters of one pooling, whose weights are sums over pairs of nodes."""
    fine = from_a_set(weighted=True, directed=False)
    pooled = HaarPool(1, 1)(torch.ones(10, 1), fine.edges, fine.segments, levels=2)
    member = torch.nn.functional.one_hot(pooled.cluster, len(pooled.x)).float()
    a = member.t() @ fine.a @ member
    return Case(pooled.edges, a - torch.diag(a.diagonal()), pooled.segments, fine.graphs)


EVERY = {
    "edge_index": lambda: from_edge_index(weighted=False),
    "edge_index, weighted": lambda: from_edge_index(weighted=True),
    "batch": lambda: from_a_set(weighted=False, directed=False),
    "batch, directed": lambda: from_a_set(weighted=True, directed=True),
    "fixed batch": lambda: of_fixed_shape(dense=False),
    "fixed batch of bits": lambda: of_fixed_shape(dense=True),
    "derived": lambda: derived(weighted=False),
    "derived, weighted": lambda: derived(weighted=True),
    "coarse": coarse,
    "chain": along_a_chain,
}
