"""A chain of clusterings of one graph: spectral clustering, again and again, down to one cluster.

Level j + 1 has int(n/2) + 1 clusters per connected component of n nodes of level j, the last level
one cluster (Wang et al., ICML 2020, and their code). Nodes are put in an order of their own before:
equal graphs in another order of nodes are then the same numbers, and so get the same clusters.
"""

from __future__ import annotations

import hashlib
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components, laplacian

from gmpool.graph.colours import Colours, Ints, mix, sums_between

SEED = 0
_KNOWN: dict[bytes, list[Ints]] = {}
KEPT = 2**14  # graphs whose clusterings a process remembers, the latest ones
LARGE = 1000  # nodes of a component for which k-means begins once and not ten times


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
    # Equal graphs in the same order have the same entries, whatever the order of their edges.
    entry, inverse = np.unique(place[target] * size + place[source], return_inverse=True)
    total = np.bincount(inverse, np.abs(weight), minlength=len(entry))
    name = hashlib.sha256(entry.tobytes() + total.tobytes() + f"{size} {levels}".encode()).digest()
    found = _KNOWN.get(name)
    if found is None:
        affinity = csr_matrix((total, (entry // size, entry % size)), shape=(size, size))
        found = _chain(affinity + affinity.T, levels)
        if len(_KNOWN) >= KEPT:
            _KNOWN.pop(next(iter(_KNOWN)))
        _KNOWN[name] = found
    return [cluster[place] if level == 0 else cluster for level, cluster in enumerate(found)]


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


def _chain(affinity: Any, levels: int) -> list[Ints]:
    """The clusterings of a symmetric matrix, level by level."""
    affinity.setdiag(0)
    affinity.eliminate_zeros()
    found = []
    for _ in range(levels - 1):
        cluster = _numbered_by_degree(_clustered(affinity), affinity)
        found.append(cluster)
        affinity = _coarse(affinity, cluster)
    return found


def _clustered(affinity: Any) -> Ints:
    """Cluster numbers of the nodes, component by component. [n]"""
    count, component = connected_components(affinity, directed=False)
    label = np.arange(affinity.shape[0])
    for number in range(count):
        nodes = np.flatnonzero(component == number)
        if len(nodes) <= 2:
            continue
        labels = _spectral(affinity[nodes][:, nodes].toarray(), len(nodes) // 2 + 1)
        # A cluster is called by its first node, so that no two components share a number.
        _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        label[nodes] = nodes[first[inverse]]
    return np.unique(label, return_inverse=True)[1]


def _spectral(affinity: NDArray[Any], count: int) -> Ints:
    """Spectral clustering of a connected graph, as scikit-learn's SpectralClustering has it. [n]"""
    from sklearn.cluster import k_means

    with warnings.catch_warnings():
        # k-means warns when it finds fewer clusters than it may, which is fine here.
        warnings.simplefilter("ignore")
        begins = 10 if len(affinity) <= LARGE else 1
        return k_means(embedding(affinity, count), count, random_state=SEED, n_init=begins)[1]


def embedding(affinity: NDArray[Any], count: int) -> NDArray[Any]:
    """D^-1/2 times the first eigenvectors of the normalised Laplacian. [n, count]

    Half of all eigenvectors are wanted. For that a dense solver is the faster one (at 1,704 nodes
    by twenty times), and it does not begin at random as scikit-learn's sparse ones do.
    """
    matrix, root_of_degree = laplacian(affinity, normed=True, return_diag=True)
    return eigh(matrix, subset_by_index=[0, count - 1])[1] / root_of_degree[:, None]


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
