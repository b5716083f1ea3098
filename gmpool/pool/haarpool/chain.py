"""Chains of clusterings of all graphs of a set, with their coarse graphs and Haar bases.

Level 0 is the set itself. The nodes of each further level are the clusters of the one before, and
the last level has one node per graph. A sparse matrix per graph is a graph with weights, so that
batches of coarse graphs and of bases come by the same index arithmetic as batches of graphs.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from gmpool.data.compressed_rows import small_int
from gmpool.data.constants import PackedConstants
from gmpool.data.pack import pack
from gmpool.data.packed import PackedGraphs
from gmpool.graph.colours import Ints
from gmpool.pool.haarpool.bases import Basis, extended_basis, top_basis
from gmpool.pool.haarpool.clustering import clusterings


class Level(NamedTuple):
    """What a pooling of a set's N nodes to N' clusters needs.

    cluster: the cluster of each node, counted inside its graph. small integer [N]
    members: the nodes, counted inside their graph, cluster after cluster. small integer [N]
    counts: how many nodes each cluster has. [N']
    graphs: the coarse graphs, with the weights between clusters; those inside are left out.
    basis: Bᵀ of the coarse graphs' Haar bases, its entry (function, node) an edge from the node to
        the function; None where every graph has one node, and B = 1.
    """

    cluster: Tensor
    members: Tensor
    counts: Tensor
    graphs: PackedGraphs
    basis: PackedGraphs | None

    def to(self, device: torch.device | str) -> Level:
        def moved(part: Any) -> Any:
            return None if part is None else part.to(device)

        return Level(*map(moved, self))


Chain = tuple[Level, ...]


def make_chain(graphs: PackedConstants, levels: int, table: Ints | None = None) -> Chain:
    """The chain of a set, on the CPU.

    levels: how many poolings it serves, the last of which leaves one node per graph.
    table: what `cluster_table` gives, where it is known.
    """
    if table is None:
        table = cluster_table(graphs, levels)
    sizes = graphs.sizes.cpu().numpy()
    graph = np.repeat(np.arange(len(sizes)), sizes)  # [N]
    below, node = graphs.to("cpu"), np.arange(len(graph))  # where each node is at this level
    made: list[tuple[Ints, PackedConstants, PackedGraphs]] = []
    for column in [*table.T, None]:
        counts = np.full(len(sizes), column is None, dtype=np.int64)
        if column is not None:
            np.maximum.at(counts, graph, column + 1)
        above = (np.cumsum(counts) - counts)[graph] + (0 if column is None else column)
        parent = np.empty(below.num_nodes, dtype=np.int64)
        parent[node] = above  # the cluster of each node of this level, over the set
        coarse = _coarse(below, parent, counts)
        made.append((parent, below, coarse))
        below, node = coarse, above
    bases = [top_basis(len(graphs))]  # of the coarse graphs; the last one need not be kept
    for parent, _, coarse in reversed(made[1:]):
        bases.insert(0, extended_basis(bases[0], parent, coarse.node_ptr.numpy()))
    kept = [*bases[:-1], None]
    return tuple(_level(*parts, basis) for parts, basis in zip(made, kept, strict=True))


def cluster_table(graphs: PackedConstants, levels: int) -> Ints:
    """The cluster of each node of the set at the levels 1 … levels-1, graph by graph: this is what
    takes time. [N, levels-1]"""
    row_ptr, col = graphs.row_ptr.cpu().numpy(), graphs.col.cpu().numpy()
    weight = None if graphs.edge_weight is None else graphs.edge_weight.cpu().numpy()
    table = np.zeros((graphs.num_nodes, levels - 1), dtype=np.int64)
    for a, b in pairwise(graphs.node_ptr.tolist() if levels > 1 else ()):
        mine, nodes = slice(row_ptr[a], row_ptr[b]), np.arange(b - a)
        source, target = col[mine].astype(np.int64), np.repeat(nodes, np.diff(row_ptr[a : b + 1]))
        weights = None if weight is None else weight[mine]
        at = nodes
        for level, cluster in enumerate(clusterings(b - a, source, target, weights, levels)):
            at = cluster[at]
            table[a:b, level] = at
    return table


def _level(
    parent: Ints, below: PackedConstants, coarse: PackedGraphs, basis: Basis | None
) -> Level:
    ptr, sizes = below.node_ptr.numpy(), below.sizes.numpy()
    first = np.repeat(ptr[:-1], sizes)  # the first node of each node's graph, [N]
    cluster = parent - np.repeat(coarse.node_ptr[:-1].numpy(), sizes)
    members = np.argsort(parent, kind="stable") - first  # a graph's clusters lie together
    small = small_int(int(sizes.max(initial=1)) - 1)
    return Level(
        torch.from_numpy(cluster).to(small),
        torch.from_numpy(members).to(small),
        torch.from_numpy(np.bincount(parent, minlength=coarse.num_nodes)),
        coarse,
        None if basis is None else _as_graphs(basis, coarse),
    )


def _coarse(below: PackedConstants, parent: Ints, counts: Ints) -> PackedGraphs:
    """The graphs of clusters: the weights between two clusters are added up."""
    rows = below.rows
    first = np.repeat(below.node_ptr[:-1].numpy(), rows.edge_ptr.diff().numpy())
    source = parent[first + rows.col.numpy()]
    target = parent[np.repeat(np.arange(below.num_nodes), rows.row_ptr.diff().numpy())]
    total = max(int(counts.sum()), 1)
    between = source != target
    key, inverse = np.unique((target * total + source)[between], return_inverse=True)
    weight = None if rows.weight is None else rows.weight.numpy()[between]
    return pack(
        name=f"{below.name}, coarser",
        sizes=torch.from_numpy(counts),
        source=torch.from_numpy(key % total),
        target=torch.from_numpy(key // total),
        edge_weight=torch.from_numpy(np.bincount(inverse, weight, minlength=len(key))).float(),
    )


def _as_graphs(basis: Basis, coarse: PackedGraphs) -> PackedGraphs:
    node = np.repeat(np.arange(coarse.num_nodes), np.diff(basis.ptr))
    first = np.repeat(coarse.node_ptr[:-1].numpy(), coarse.sizes.numpy())
    return pack(
        name=f"{coarse.name}, Haar basis",
        sizes=coarse.sizes,
        source=torch.from_numpy(node),
        target=torch.from_numpy(first[node] + basis.function),
        edge_weight=torch.from_numpy(basis.value).float(),
    )
