from __future__ import annotations

import logging
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from graphs import random_batch

from gmpool.data.pack import pack
from gmpool.data.packed import PackedGraphs
from gmpool.pool.haarpool import chain_cache
from gmpool.pool.haarpool.bases import Basis, extended_basis, top_basis
from gmpool.pool.haarpool.chain import Level, cluster_table, make_chain
from gmpool.pool.haarpool.chain_cache import cached_chain

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


@pytest.mark.parametrize("levels", [1, 2, 3, 4])
@pytest.mark.parametrize("directed", [False, True])
def test_coarse_graphs_and_bases_are_what_the_paper_says(levels: int, directed: bool) -> None:
    graphs = some_graphs(weighted=True, directed=directed)
    chain = make_chain(graphs, levels)
    assert len(chain) == levels
    assert chain[-1].graphs.sizes.tolist() == [1] * len(SIZES)
    assert chain[-1].basis is None
    below = [graphs, *(level.graphs for level in chain)]
    for g, size in enumerate(SIZES):
        if size == 0:
            continue
        maps = [clusters_of(level, b, g) for level, b in zip(chain, below, strict=False)]
        bases = reference_basis(maps)
        for j, level in enumerate(chain):
            C = np.eye(int(level.graphs.sizes[g]))[maps[j]]
            wanted = C.T @ dense(below[j], g) @ C
            np.fill_diagonal(wanted, 0)
            np.testing.assert_allclose(dense(level.graphs, g), wanted, rtol=1e-6)
            full = bases[j]
            np.testing.assert_allclose(full.T @ full, np.eye(len(full)), atol=1e-12)
            # The first functions are the lifts: C D^-1/2 B.
            lifts = C / np.sqrt(C.sum(0)) @ bases[j + 1]
            np.testing.assert_allclose(full[:, : lifts.shape[1]], lifts, atol=1e-12)
            if level.basis is not None:
                np.testing.assert_allclose(dense(level.basis, g), bases[j + 1].T, atol=1e-6)


def test_the_whole_basis_is_orthonormal_at_the_bottom_too() -> None:
    graphs = some_graphs()
    basis = top_basis(len(SIZES))
    for below, level in reversed(list(pairwise_levels(graphs))):
        first = np.repeat(level.graphs.node_ptr[:-1].numpy(), below.sizes.numpy())
        parent = first + level.cluster.long().numpy()
        basis = extended_basis(basis, parent, level.graphs.node_ptr.numpy())
    for a, b in pairwise(graphs.node_ptr.tolist()):
        phi = as_matrix(basis, a, b)
        np.testing.assert_allclose(phi.T @ phi, np.eye(b - a), atol=1e-12)


def pairwise_levels(graphs: PackedGraphs) -> list[tuple[PackedGraphs, Level]]:
    chain = make_chain(graphs, 3)
    return list(zip([graphs, *(level.graphs for level in chain)], chain, strict=False))


def as_matrix(basis: Basis, a: int, b: int) -> np.ndarray:
    phi = np.zeros((b - a, b - a))
    for node in range(a, b):
        mine = slice(basis.ptr[node], basis.ptr[node + 1])
        phi[node - a, basis.function[mine]] = basis.value[mine]
    return phi


def test_members_and_counts_list_the_clusters() -> None:
    for below, level in pairwise_levels(some_graphs()):
        ends = np.concatenate([[0], np.cumsum(level.counts.numpy())])
        for g in range(len(SIZES)):
            mine = clusters_of(level, below, g)
            first = int(below.node_ptr[g])
            for p in range(int(level.graphs.sizes[g])):
                at = int(level.graphs.node_ptr[g]) + p
                members = level.members[ends[at] : ends[at + 1]].tolist()
                assert members == np.flatnonzero(mine == p).tolist()
                assert ends[at] >= first


def test_a_graph_has_the_same_chain_in_every_set() -> None:
    graphs = some_graphs(weighted=True)
    whole = make_chain(graphs, 3)
    alone = make_chain(graphs.select([3]), 3)
    for together, one, below in zip(
        whole, alone, [graphs, *(w.graphs for w in whole)], strict=False
    ):
        np.testing.assert_array_equal(clusters_of(together, below, 3), one.cluster.numpy())
        np.testing.assert_array_equal(dense(together.graphs, 3), dense(one.graphs, 0))


@pytest.fixture
def always_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain_cache, "WORTH_A_FILE_S", 0.0)


def files(cache: Path) -> list[Path]:
    return list((cache / chain_cache.FORMAT).glob("*.safetensors"))


def test_a_quick_clustering_writes_no_file(own_cache: Path) -> None:
    cached_chain(some_graphs(), 3)
    assert not files(own_cache)


@pytest.mark.usefixtures("always_stored")
def test_clusterings_are_read_from_the_cache(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs = some_graphs(weighted=True)
    made = cached_chain(graphs, 3)
    assert len(files(own_cache)) == 1
    cached_chain(some_graphs(weighted=False), 3)
    assert len(files(own_cache)) == 2, "other weights, other clusterings"
    monkeypatch.setattr(chain_cache, "cluster_table", lambda *_: pytest.fail("not read"))
    for level, again in zip(made, cached_chain(some_graphs(weighted=True), 3), strict=True):
        assert torch.equal(level.cluster, again.cluster)
        assert level.graphs.digest == again.graphs.digest


@pytest.mark.usefixtures("always_stored")
def test_a_damaged_or_unwritable_cache_costs_time_only(
    own_cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = cached_chain(some_graphs(), 3)
    (path,) = files(own_cache)
    path.write_bytes(path.read_bytes()[:-7])
    with caplog.at_level(logging.WARNING):
        again = cached_chain(some_graphs(), 3)
    assert "clustering again" in caplog.text
    assert torch.equal(made[0].cluster, again[0].cluster)
    path.unlink()
    path.parent.rmdir()
    path.parent.write_text("no folder")
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        again = cached_chain(some_graphs(), 3)
    assert "not cached" in caplog.text
    assert torch.equal(made[0].cluster, again[0].cluster)


def test_cluster_table_of_nothing() -> None:
    empty = pack(
        name="none",
        sizes=torch.tensor([0, 0]),
        source=torch.zeros(0, dtype=torch.long),
        target=torch.zeros(0, dtype=torch.long),
    )
    assert cluster_table(empty, 3).shape == (0, 2)
    assert make_chain(empty, 3)[-1].graphs.sizes.tolist() == [1, 1]
