"""Chains of clusterings: coarse graphs, members and bases of every level."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from haar_chains import (
    SIZES,
    clusters_of,
    dense,
    pairwise_levels,
    reference_basis,
    some_graphs,
)

from gmpool.data.pack import pack
from gmpool.pool.haarpool.chain import cluster_table, make_chain


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


def test_cluster_table_of_nothing() -> None:
    empty = pack(
        name="none",
        sizes=torch.tensor([0, 0]),
        source=torch.zeros(0, dtype=torch.long),
        target=torch.zeros(0, dtype=torch.long),
    )
    assert cluster_table(empty, 3).shape == (0, 2)
    assert make_chain(empty, 3)[-1].graphs.sizes.tolist() == [1, 1]
