"""Haar bases against the formula of the paper, function by function."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from haar_chains import SIZES, clusters_of, pairwise_levels, reference_basis, some_graphs

from gmpool.pool.haarpool.bases import Basis, extended_basis, top_basis


def as_matrix(basis: Basis, a: int, b: int) -> np.ndarray:
    phi = np.zeros((b - a, b - a))
    for node in range(a, b):
        mine = slice(basis.ptr[node], basis.ptr[node + 1])
        phi[node - a, basis.function[mine]] = basis.value[mine]
    return phi


def bottom() -> Basis:
    """The whole basis of the graphs themselves, level by level from the top."""
    basis = top_basis(len(SIZES))
    for below, level in reversed(pairwise_levels(some_graphs())):
        first = np.repeat(level.graphs.node_ptr[:-1].numpy(), below.sizes.numpy())
        parent = first + level.cluster.long().numpy()
        basis = extended_basis(basis, parent, level.graphs.node_ptr.numpy())
    return basis


def test_the_whole_basis_is_orthonormal_at_the_bottom_too() -> None:
    basis = bottom()
    for a, b in pairwise(some_graphs().node_ptr.tolist()):
        phi = as_matrix(basis, a, b)
        np.testing.assert_allclose(phi.T @ phi, np.eye(b - a), atol=1e-12)


def test_it_is_the_basis_of_the_paper() -> None:
    basis, graphs = bottom(), some_graphs()
    for g, size in enumerate(SIZES):
        if size:
            clusterings = [clusters_of(level, below, g) for below, level in pairwise_levels(graphs)]
            a, b = graphs.node_ptr[g : g + 2].tolist()
            expected = reference_basis(clusterings)[0]
            np.testing.assert_allclose(as_matrix(basis, a, b), expected, atol=1e-12)
