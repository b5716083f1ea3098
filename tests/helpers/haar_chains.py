"""Graphs with a chain of clusterings, and the Haar bases that the paper says they have."""

from __future__ import annotations

import numpy as np
import torch
from graphs import random_batch

from gmpool.data.pack import pack
from gmpool.data.packed import PackedGraphs
from gmpool.pool.haarpool.chain import Level, make_chain

SIZES = [7, 1, 0, 12, 2, 5]


def some_graphs(*, weighted: bool = False, directed: bool = False) -> PackedGraphs:
    batch = random_batch(SIZES, 1, seed=3, density=0.35, weighted=weighted, directed=directed)
    return pack(
        name="some",
        sizes=torch.tensor(SIZES),
        source=batch.edge_index[0],
        target=batch.edge_index[1],
        edge_weight=None if batch.weight is None else batch.weight.float(),
    )


def dense(graphs: PackedGraphs, g: int) -> np.ndarray:
    """A of graph g: entry (i, j) is the weight of j -> i."""
    batch = graphs.batch([g])
    A = np.zeros((batch.num_nodes, batch.num_nodes))
    weight = 1.0 if batch.edge_weight is None else batch.edge_weight.numpy()
    np.add.at(A, (batch.edge_index[1].numpy(), batch.edge_index[0].numpy()), weight)
    return A


def clusters_of(level: Level, below: PackedGraphs, g: int) -> np.ndarray:
    return level.cluster[below.node_ptr[g] : below.node_ptr[g + 1]].long().numpy()


def pairwise_levels(graphs: PackedGraphs) -> list[tuple[PackedGraphs, Level]]:
    """Each level of a chain of three, after the graphs that it clusters."""
    chain = make_chain(graphs, 3)
    return list(zip([graphs, *(level.graphs for level in chain)], chain, strict=False))


def contrasts(members: list[int], size: int) -> list[np.ndarray]:
    """The formula of the paper, function by function."""
    c, found = len(members), []
    for k in range(1, c):
        chi = np.zeros(size)
        chi[members[k - 1]] = 1
        chi[members[k:]] = -1 / (c - k)
        found.append(np.sqrt((c - k) / (c - k + 1)) * chi)
    return found


def reference_basis(clusterings: list[np.ndarray]) -> list[np.ndarray]:
    """The full bases of all levels of one graph, bottom first, as columns."""
    functions = [np.ones(1)]
    found = [np.stack(functions, axis=1)]
    for cluster in reversed(clusterings):
        size = len(cluster)
        counts = np.bincount(cluster)
        lifted = [phi[cluster] / np.sqrt(counts[cluster]) for phi in functions]
        new = [contrasts(np.flatnonzero(cluster == p).tolist(), size) for p in range(len(counts))]
        functions = lifted + [phi for cluster_ in new for phi in cluster_]
        found.insert(0, np.stack(functions, axis=1))
    return found
