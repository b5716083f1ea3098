"""What is rebuilt does not depend on batches, and clusters are what the pooling says."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from small_graphs import atoms, points
from torch.nn import functional as F

from gmpool.data import GraphBatch
from gmpool.tasks.reconstruct.compress import COMPRESSIONS
from gmpool.tasks.reconstruct.model import Autoencoder
from gmpool.tasks.reconstruct.rebuild import rebuild
from gmpool.tasks.reconstruct.settings import AutoencoderConfig
from gmpool.tasks.shape import DataShape

SMALL = AutoencoderConfig(hidden_dim=8, ratio=0.5)
IDS = torch.tensor([5, 0, 11, 3, 8])


@pytest.mark.parametrize("method", COMPRESSIONS)
@pytest.mark.parametrize("graphs", [atoms(), points()], ids=["atoms", "points"])
def test_batches_do_not_matter(method: str, graphs) -> None:
    torch.manual_seed(0)
    config = replace(SMALL, method=method)
    model = Autoencoder(DataShape.of(graphs, labelled=False), config)
    whole, pairs = (rebuild(model, graphs, IDS, batch_size=size) for size in (5, 2))
    torch.testing.assert_close(whole.nodes, pairs.nodes, atol=1e-5, rtol=1e-4)
    assert torch.equal(whole.clusters, pairs.clusters)
    assert whole.scores == pytest.approx(pairs.scores, rel=1e-5)
    assert len(whole.clusters) == int(graphs.sizes[IDS].sum())


def test_scores_are_those_of_the_nodes() -> None:
    for graphs in (atoms(), points()):
        torch.manual_seed(0)
        model = Autoencoder(DataShape.of(graphs, labelled=False), SMALL)
        made, batch = rebuild(model, graphs, IDS), GraphBatch(graphs, IDS)
        if batch.node_cat is None:
            expected = {"error_x": F.mse_loss(made.nodes, batch.x).item()}
        else:
            right = made.nodes == batch.node_cat[:, 0]
            expected = {"accuracy": 100 * right.double().mean().item()}
        assert made.scores == pytest.approx(
            {**expected, "error_a": made.scores["error_a"]}, rel=1e-5
        )


def test_kept_nodes_are_numbered_within_their_graph() -> None:
    graphs = points()
    torch.manual_seed(0)
    config = replace(SMALL, method="topk")
    model = Autoencoder(DataShape.of(graphs, labelled=False), config)
    made = rebuild(model, graphs, IDS)
    for part in made.clusters.split(graphs.sizes[IDS].tolist()):
        kept = part[part >= 0]
        assert kept.tolist() == list(range(-(-len(part) // 2)))
        assert (part[part < 0] == -1).all()
