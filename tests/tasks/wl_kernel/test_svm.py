from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from networkx.generators.atlas import graph_atlas_g

from gmpool.data import from_networkx, load
from gmpool.errors import UserError
from gmpool.graph.colours import colour_counts
from gmpool.tasks.wl_kernel.svm import Machine, WLSubtreeSVM

ATLAS = from_networkx(graph_atlas_g()[:200], without_features="constant")
COUNTS = colour_counts(ATLAS, 3)


def test_iterations_are_counted_from_zero() -> None:
    with pytest.raises(UserError, match="iterations must not be negative, got -1"):
        WLSubtreeSVM(iterations=-1)


@pytest.mark.parametrize("normalise", [False, True])
def test_kernels_are_sums_over_iterations(normalise: bool) -> None:
    rows, columns = np.array([0, 5, 190, 7]), np.arange(3, 60)
    found = list(WLSubtreeSVM(normalise=normalise).kernels(COUNTS, rows, columns))
    assert len(found) == 4
    total = np.zeros((len(ATLAS), len(ATLAS)))
    for kernel, counts in zip(found, COUNTS, strict=True):
        total += (counts @ counts.T).toarray()
        norm = np.sqrt(np.diag(total)) if normalise else np.ones(len(ATLAS))
        with np.errstate(invalid="ignore"):
            wanted = np.nan_to_num(total / norm / norm[:, None])
        np.testing.assert_allclose(kernel, wanted[np.ix_(rows, columns)], atol=1e-12)


@pytest.mark.data
def test_kernels_agree_with_grakel_on_mutag(data_root: Path) -> None:
    grakel = pytest.importorskip("grakel")
    graphs = load("MUTAG", data_root).graphs
    theirs = []
    for number in range(len(graphs)):
        batch = graphs.batch([number])
        edges = [tuple(edge) for edge in batch.edge_index.t().tolist()]
        labels = dict(enumerate(batch.node_cat[:, 0].tolist()))
        theirs.append(grakel.Graph(edges, node_labels=labels))
    everything = np.arange(len(graphs))
    for normalise in (False, True):
        method = WLSubtreeSVM(normalise=normalise)
        ours = list(method.kernels(colour_counts(graphs, 3), everything, everything))
        for rounds in (1, 3):
            kernel = grakel.WeisfeilerLehman(
                n_iter=rounds,
                normalize=normalise,
                base_graph_kernel=grakel.VertexHistogram,
            )
            np.testing.assert_allclose(ours[rounds], kernel.fit_transform(theirs), rtol=1e-12)


def points(count: int = 40) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(count, 3))


def test_classes() -> None:
    x = points()
    y = (x[:, 0] > 0).astype(np.int64) + 2 * (x[:, 1] > 0)  # four of five classes
    machine = Machine("multiclass", 5, 100.0).fit(x @ x.T, y)
    out = machine.outputs(x @ x.T)
    assert out.shape == (40, 5)
    assert (out.argmax(1) == y).mean() > 0.9
    assert 0 < machine.num_parameters <= 40


def test_yes_and_no_with_missing_labels() -> None:
    x = points()
    y = np.stack([x[:, 0] > 0, x[:, 1] > 0, x[:, 2] > 9, x[:, 2] > 9], axis=1).astype(float)
    y[::3, 0] = math.nan
    y[:, 3] = math.nan
    machine = Machine("binary", 4, 100.0).fit(x @ x.T, y)
    out = machine.outputs(x @ x.T)
    assert out.shape == (40, 4)
    assert ((out[:, 0] > 0) == (x[:, 0] > 0)).mean() > 0.8, "also where the label is missing"
    assert ((out[:, 1] > 0) == (x[:, 1] > 0)).mean() > 0.9
    assert (out[:, 2:] < 0).all(), "only no, or nothing at all, is known"
    there = ~np.isnan(y[:, 0])
    alone = Machine("binary", 1, 100.0).fit((x @ x.T)[there][:, there], y[there][:, :1])
    np.testing.assert_allclose(out[:, :1], alone.outputs((x @ x.T)[:, there]))


def test_values_in_the_unit_of_the_labels() -> None:
    x = points()
    y = 1000 + 50 * x[:, :2]
    y[0, 0] = math.nan
    out = Machine("regression", 2, 10.0).fit(x @ x.T, y).outputs(x @ x.T)
    wanted = 1000 + 50 * x[:, :2]
    assert np.abs(out - wanted).max() < 10
    constant = Machine("regression", 1, 1.0).fit(x @ x.T, np.full((40, 1), 7.0))
    np.testing.assert_array_equal(constant.outputs(x[:2] @ x.T), [[7.0], [7.0]])
    assert constant.num_parameters == 0


def test_the_unit_of_a_kernel_does_not_matter() -> None:
    """C is counted from a mean square norm of 1."""
    x = points()
    y = (x[:, 0] + 0.5 * points(40)[::-1, 1] > 0).astype(float)[:, None]
    small, large = (Machine("binary", 1, 1.0).fit(s * x @ x.T, y) for s in (1e-3, 1e3))
    np.testing.assert_allclose(
        small.outputs(1e-3 * x @ x.T), large.outputs(1e3 * x @ x.T), atol=1e-2
    )
