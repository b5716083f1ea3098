"""A chain of clusterings of one graph: spectral clustering, again and again, down to one cluster.

Level j + 1 has int(n/2) + 1 clusters per connected component of n nodes of level j, the last level
one cluster (Wang et al., ICML 2020, and their code). Nodes are put in an order of their own before:
equal graphs in another order of nodes are then the same numbers, and so get the same clusters.
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from gmpool.data.colours import Colours, mix, sums_between

Ints = NDArray[np.int64]
SEED = 0
KEPT = 2**14  # graphs whose clusterings a process remembers


def clusterings(size: int, source: Ints, target: Ints, weight: Any, levels: int) -> list[Ints]:
    """For each of the levels 0 … levels-2 the cluster of each node; clusters by degree, descending.

    source, target [E]: any order, either direction; weight [E] or None (all ones), whose signs do
    not count. Clusters of level j are the nodes of level j + 1.
    """
    if size == 0:
        return [np.zeros(0, dtype=np.int64)] * (levels - 1)
    weight = np.ones(len(source), dtype=np.float32) if weight is None else weight
    order = canonical_order(size, source, target, weight)
    place = np.empty_like(order)
    place[order] = np.arange(size)
    # Both directions, summed: symmetric, and one array per graph whatever the order of its edges.
    key, inverse = np.unique(place[target] * size + place[source], return_inverse=True)
    total = np.bincount(inverse, np.abs(weight), minlength=len(key))
    found = list(_chain(size, levels, key.tobytes(), total.tobytes()))
    if found:
        found[0] = found[0][place]
    return found


def canonical_order(size: int, source: Ints, target: Ints, weight: NDArray[Any]) -> Ints:
    """The nodes in an order that depends on their numbers only between nodes that look alike.

    Colours are refined until they stay; then a node of the first colour that several nodes share
    gets a colour of its own, and so on. Where nodes of one colour are images of each other under a
    symmetry of the graph, as in all but special graphs, the graph so ordered does not depend on
    the numbers at all.
    """
    bits = mix((weight.astype(np.float32) + np.float32(0)).view(np.uint32))  # [E]
    sides = [_Side(target, source, bits, size), _Side(source, target, ~bits, size)]
    colour = np.zeros(size, dtype=np.int64)
    colours = 1
    while True:
        colour, colours = _refined(colour, colours, sides)
        if colours == size:
            return np.argsort(colour)
        shared = np.flatnonzero(np.bincount(colour) > 1)[0]
        first = np.flatnonzero(colour == shared)[0]
        colour = 2 * colour + 1
        colour[first] -= 1
        colours += 1


class _Side:
    """The edges of a graph as one of their ends sees them, sorted by that end."""

    def __init__(self, here: Ints, there: Ints, bits: Colours, size: int) -> None:
        order = np.argsort(here, kind="stable")
        self.there, self.bits = there[order], bits[order]
        self.ptr = np.zeros(size + 1, dtype=np.int64)
        np.cumsum(np.bincount(here, minlength=size), out=self.ptr[1:])

    def seen(self, colour: Colours) -> Colours:
        return sums_between(mix(colour[self.there] ^ self.bits), self.ptr)


def _refined(colour: Ints, colours: int, sides: list[_Side]) -> tuple[Ints, int]:
    """Colours that no further refinement splits, and how many; order among old ones stays."""
    while True:
        own = mix(colour)
        seen = mix(sides[0].seen(own)) + mix(sides[1].seen(own))
        order = np.lexsort((seen, colour))
        new = (np.diff(colour[order]) != 0) | (np.diff(seen[order]) != 0)
        rank = np.zeros_like(colour)
        rank[order[1:]] = np.cumsum(new)
        count = int(new.sum()) + 1
        if count == colours:
            return rank, count
        colour, colours = rank, count


@lru_cache(maxsize=KEPT)
def _chain(size: int, levels: int, key: bytes, total: bytes) -> tuple[Ints, ...]:
    """The clusterings of the symmetric closure of a graph, given by bytes to be remembered by."""
    entry, weight = np.frombuffer(key, np.int64), np.frombuffer(total, np.float64)
    affinity = csr_matrix((weight, (entry // size, entry % size)), shape=(size, size))
    affinity = affinity + affinity.T
    affinity.setdiag(0)
    affinity.eliminate_zeros()
    found = []
    for _ in range(levels - 1):
        cluster = _numbered_by_degree(_clustered(affinity), affinity)
        found.append(cluster)
        affinity = _coarse(affinity, cluster)
    return tuple(found)


def _clustered(affinity: Any) -> Ints:
    """Cluster numbers of the nodes, component by component. [n]"""
    from sklearn.cluster import SpectralClustering

    count, component = connected_components(affinity, directed=False)
    label = np.arange(affinity.shape[0])
    for number in range(count):
        nodes = np.flatnonzero(component == number)
        if len(nodes) <= 2:
            continue
        spectral = SpectralClustering(
            len(nodes) // 2 + 1, affinity="precomputed", random_state=SEED, n_init=10
        )
        with warnings.catch_warnings():
            # k-means warns when it finds fewer clusters than it may, which is fine here.
            warnings.simplefilter("ignore")
            labels = spectral.fit(affinity[nodes][:, nodes].toarray()).labels_
        # A cluster is called by its first node, so that no two components share a number.
        _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        label[nodes] = nodes[first[inverse]]
    return np.unique(label, return_inverse=True)[1]


def _coarse(affinity: Any, cluster: Ints) -> Any:
    """The weights between clusters; those inside are left out. [n', n']"""
    n = len(cluster)
    member = csr_matrix((np.ones(n), (np.arange(n), cluster)))
    coarse = member.T @ affinity @ member
    coarse.setdiag(0)
    coarse.eliminate_zeros()
    return coarse.tocsr()


def _numbered_by_degree(cluster: Ints, affinity: Any) -> Ints:
    """Cluster numbers such that degrees descend; equal ones by their first node."""
    degree = np.asarray(_coarse(affinity, cluster).sum(1)).ravel()
    order = np.lexsort((np.arange(len(degree)), -degree))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[cluster]
