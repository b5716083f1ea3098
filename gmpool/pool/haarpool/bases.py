"""Haar bases along chains of clusterings (Wang et al., ICML 2020), for a whole set.

The top level has one node per graph and the basis φ_1 = 1. Below a level with the basis φ, a node v
in the cluster p(v) of c_p nodes has

    lifts       φ_l(p(v)) / √c_p                                             for every φ_l above
    contrasts   √((c-k)/(c-k+1)) · (χ_k - mean(χ_{k+1} … χ_c)),  k = 1 … c-1, in every cluster

with χ_k the indicator of the cluster's k-th node. Lifts come first, then the contrasts cluster by
cluster: N orthonormal functions on N nodes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gmpool.graph.colours import Ints


class Basis(NamedTuple):
    """One N × N basis per graph, sparse: the entries of node v are ptr[v]:ptr[v+1]."""

    ptr: Ints  # [N+1]
    function: Ints  # [entries], counted inside the graph
    value: NDArray[np.float64]  # [entries]


def top_basis(num_graphs: int) -> Basis:
    """One node per graph: 1."""
    return Basis(
        np.arange(num_graphs + 1), np.zeros(num_graphs, dtype=np.int64), np.ones(num_graphs)
    )


def extended_basis(above: Basis, parent: Ints, node_ptr: Ints) -> Basis:
    """The basis one level below.

    parent [N]: the cluster of each node, over the set; nodes are ordered by their numbers.
    node_ptr [G+1]: the clusters of graph g are node_ptr[g]:node_ptr[g+1].
    """
    N, clusters = len(parent), np.diff(node_ptr)
    graph = np.repeat(np.arange(len(clusters)), clusters)  # of each cluster
    counts = np.bincount(parent, minlength=len(graph))
    start = np.cumsum(counts) - counts
    first = node_ptr[graph]
    # A cluster has one contrast less than it has nodes: so many are there before those of each.
    before = clusters[graph] + (start - start[first]) - (np.arange(len(graph)) - first)
    order = np.argsort(parent, kind="stable")
    rank = np.empty(N, dtype=np.int64)
    rank[order] = np.arange(N) - start[parent[order]]

    node, number = _spread(np.diff(above.ptr)[parent])
    entry = above.ptr[parent[node]] + number
    lifts = above.value[entry] / np.sqrt(counts[parent[node]])

    also, k = _spread(np.minimum(rank + 1, counts[parent] - 1))
    left = counts[parent[also]] - k  # nodes of the cluster from the k-th on, counted from 0
    own = np.sqrt((left - 1) / left)
    contrasts = np.where(rank[also] == k, own, -own / (left - 1))

    function = np.concatenate([above.function[entry], before[parent[also]] + k])
    by_node = np.argsort(np.concatenate([node, also]), kind="stable")
    ptr = np.zeros(N + 1, dtype=np.int64)
    np.cumsum(np.bincount(node, minlength=N) + np.bincount(also, minlength=N), out=ptr[1:])
    return Basis(ptr, function[by_node], np.concatenate([lifts, contrasts])[by_node])


def _spread(counts: NDArray[Any]) -> tuple[Ints, Ints]:
    """0 counts[0] times, 1 counts[1] times, …; and the number of each among its equals."""
    which = np.repeat(np.arange(len(counts)), counts)
    return which, np.arange(len(which)) - (np.cumsum(counts) - counts)[which]
