from __future__ import annotations

import hypothesis.strategies as st
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.manifold import spectral_embedding

from gmpool.pool.haarpool import clustering
from gmpool.pool.haarpool.clustering import canonical_order, clusterings, embedding


def arrays(graph: nx.Graph) -> tuple[int, np.ndarray, np.ndarray]:
    """(nodes, source, target) with both directions of an undirected graph."""
    edges = np.array(list(nx.to_directed(graph).edges), dtype=np.int64).reshape(-1, 2)
    return len(graph), edges[:, 0], edges[:, 1]


def matrix(size: int, source: np.ndarray, target: np.ndarray, order: np.ndarray) -> np.ndarray:
    dense = np.zeros((size, size))
    dense[target, source] = 1
    return dense[np.ix_(order, order)]


GRAPHS = {
    "path": nx.path_graph(7),
    "ring": nx.cycle_graph(8),
    "clique": nx.complete_graph(6),
    "star": nx.star_graph(6),
    "grid": nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 4)),
    "two components": nx.disjoint_union(nx.path_graph(3), nx.cycle_graph(5)),
    "petersen": nx.petersen_graph(),
    "tree": nx.random_labeled_tree(20, seed=1),
    "no edges": nx.empty_graph(4),
    "directed": nx.gnp_random_graph(9, 0.3, seed=2, directed=True),
}


@pytest.mark.parametrize("name", list(GRAPHS))
def test_a_graph_in_its_own_order_does_not_depend_on_numbers(name: str) -> None:
    size, source, target = arrays(GRAPHS[name])
    ones = np.ones(len(source), dtype=np.float32)
    wanted = matrix(size, source, target, canonical_order(size, source, target, ones))
    generator = np.random.default_rng(0)
    for _ in range(5):
        new, shuffled = generator.permutation(size), generator.permutation(len(source))
        source_, target_ = new[source][shuffled], new[target][shuffled]
        order = canonical_order(size, source_, target_, ones)
        assert sorted(order) == list(range(size))
        np.testing.assert_array_equal(matrix(size, source_, target_, order), wanted)


def test_weights_are_part_of_the_order() -> None:
    source, target = np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1])
    light = np.array([1, 1, 2, 2], dtype=np.float32)  # a path whose ends differ by weight alone
    order = canonical_order(3, source, target, light)
    turned = canonical_order(3, 2 - source, 2 - target, light)
    np.testing.assert_array_equal(turned, 2 - order)


@settings(max_examples=15)
@given(st.integers(0, 25), st.floats(0, 0.4), st.integers(0, 999), st.integers(1, 4))
def test_sizes_and_nesting(size: int, density: float, seed: int, levels: int) -> None:
    graph = nx.gnp_random_graph(size, density, seed=seed)
    found = clusterings(*arrays(graph), None, levels)
    assert len(found) == levels - 1
    for cluster in found:
        # Never more than asked for per component, every number is used, nothing is torn apart.
        most = sum(min(len(c), len(c) // 2 + 1) for c in nx.connected_components(graph))
        count = int(cluster.max(initial=-1)) + 1
        assert set(cluster.tolist()) == set(range(count))
        assert count <= most
        assert len(cluster) == len(graph)
        coarse = nx.empty_graph(count)
        coarse.add_edges_from((cluster[u], cluster[v]) for u, v in graph.edges)
        coarse.remove_edges_from(list(nx.selfloop_edges(coarse)))
        assert nx.number_connected_components(coarse) == nx.number_connected_components(graph)
        graph = coarse


def test_heavy_edges_hold_together() -> None:
    """A ring of five heavy pairs and two single nodes: twelve nodes, and seven clusters to find."""
    source = np.arange(12)
    weight = np.where(source % 2, 0.1, 10.0).astype(np.float32)
    weight[10] = 0.1  # nodes 10 and 11 are no pair
    (cluster,) = clusterings(12, source, (source + 1) % 12, weight, 2)
    pairs = cluster[:10].reshape(5, 2)
    np.testing.assert_array_equal(pairs[:, 0], pairs[:, 1])
    assert len({*pairs[:, 0].tolist(), *cluster[10:].tolist()}) == 7


def test_embedding_is_that_of_scikit_learn() -> None:
    generator = np.random.default_rng(0)
    affinity = generator.random((30, 30))
    affinity += affinity.T
    theirs = spectral_embedding(affinity, n_components=16, drop_first=False, random_state=0)
    ours = embedding(affinity, 16)
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-8)


def test_clusters_are_numbered_by_degree() -> None:
    graph = nx.random_labeled_tree(30, seed=3)
    (cluster,) = clusterings(*arrays(graph), None, 2)
    cut = np.zeros(int(cluster.max()) + 1)
    for u, v in graph.edges:
        if cluster[u] != cluster[v]:
            cut[cluster[u]] += 1
            cut[cluster[v]] += 1
    assert (np.diff(cut) <= 0).all()


def test_equal_graphs_are_clustered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    size, source, target = arrays(nx.random_labeled_tree(11, seed=5))
    first = clusterings(size, source, target, None, 3)
    monkeypatch.setattr(clustering, "_chain", lambda *_: pytest.fail("clustered again"))
    new = np.random.default_rng(0).permutation(size)
    other = clusterings(size, new[source], new[target], None, 3)
    np.testing.assert_array_equal(first[1], other[1])


def test_the_latest_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clustering, "_KNOWN", known := {})
    monkeypatch.setattr(clustering, "KEPT", 3)
    for size in range(3, 9):
        clusterings(*arrays(nx.path_graph(size)), None, 2)
    assert [len(found[0]) for found in known.values()] == [6, 7, 8]


def test_direction_and_sign_do_not_count() -> None:
    size, source, target = arrays(nx.random_labeled_tree(12, seed=7))
    there = source < target
    one_way = clusterings(size, source[there], target[there], None, 2)
    signed = np.where(np.arange(len(source)) % 2, 1, -1).astype(np.float32)
    for found in (one_way, clusterings(size, source, target, signed, 2)):
        # Not the same numbers: the order of nodes sees directions and signs. The same sizes.
        assert len(np.unique(found[0])) == size // 2 + 1
