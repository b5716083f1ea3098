"""The autoencoder: laws of its outputs, what counts in its loss, and that it learns."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from small_graphs import atoms, points
from torch.nn import functional as F

from gmpool.data import GraphBatch, PackedGraphs
from gmpool.data.pack import pack
from gmpool.errors import UserError
from gmpool.tasks.reconstruct.compress import COMPRESSIONS
from gmpool.tasks.reconstruct.model import Autoencoder, metric_name, rebuild
from gmpool.tasks.reconstruct.settings import AutoencoderConfig
from gmpool.tasks.shape import DataShape

SMALL = AutoencoderConfig(hidden_dim=8, ratio=0.5)
IDS = torch.tensor([5, 0, 11, 3, 8])


def model_for(graphs: PackedGraphs, config: AutoencoderConfig) -> Autoencoder:
    torch.manual_seed(0)
    return Autoencoder(DataShape.of(graphs, labelled=False), config)


def relabelled(graphs: PackedGraphs, order: torch.Tensor) -> PackedGraphs:
    """The first graph with its nodes in another order."""
    batch = GraphBatch(graphs, [0])
    place = order.argsort()
    source, target = place[batch.edge_index]
    return pack(
        name="permuted",
        sizes=torch.tensor([len(order)]),
        source=source,
        target=target,
        node_float=batch.x[order],
    )


@pytest.mark.parametrize("method", COMPRESSIONS)
def test_a_graph_is_rebuilt_the_same_whoever_is_beside_it(method: str) -> None:
    graphs = points()
    model = model_for(graphs, replace(SMALL, method=method)).eval()
    together = model.reconstruct(GraphBatch(graphs, [4, 7, 2]))
    start = int(graphs.sizes[4])
    alone = model.reconstruct(GraphBatch(graphs, [7]))
    torch.testing.assert_close(together.x[start : start + len(alone.x)], alone.x)
    torch.testing.assert_close(together.adjacency_errors[1:2], alone.adjacency_errors)


@pytest.mark.parametrize("method", [name for name in COMPRESSIONS if name != "random"])
def test_the_order_of_nodes_does_not_matter(method: str) -> None:
    graphs = points()
    model = model_for(graphs, replace(SMALL, method=method)).eval()
    order = torch.randperm(int(graphs.sizes[0]), generator=torch.Generator().manual_seed(3))
    first = model.reconstruct(GraphBatch(graphs, [0]))
    second = model.reconstruct(GraphBatch(relabelled(graphs, order), [0]))
    torch.testing.assert_close(second.x, first.x[order], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(second.adjacency_errors, first.adjacency_errors)


def test_categories_are_learned_by_cross_entropy_and_numbers_by_squares() -> None:
    for graphs, name in ((atoms(), "accuracy"), (points(), "error_x")):
        model, batch = model_for(graphs, SMALL), GraphBatch(graphs, [0, 1, 2])
        out, losses = model(batch)
        assert out.shape == (batch.num_nodes, graphs.num_features)
        assert losses == {}
        assert metric_name(model.shape, "x") == name
        assert metric_name(model.shape, "a") == "error_a"
        loss = model.distance(out, model.labels(batch))
        if name == "accuracy":
            assert batch.node_cat is not None
            expected = F.cross_entropy(out, batch.node_cat[:, 0])
        else:
            expected = F.mse_loss(out, batch.x)
        torch.testing.assert_close(loss, expected)
        torch.testing.assert_close(model.loss(batch, *model.phases), expected)


def test_the_objective_a_is_the_mean_over_graphs() -> None:
    graphs = points()
    model, batch = model_for(graphs, replace(SMALL, objective="a")), GraphBatch(graphs, [3, 5])
    out, _ = model(batch)
    errors = model.reconstruct(batch).adjacency_errors
    torch.testing.assert_close(out[:, 0], errors)
    torch.testing.assert_close(model.distance(out, model.labels(batch)), errors.mean())


@pytest.mark.parametrize("method", ["diffpool", "mincut"])
def test_auxiliary_losses_can_be_left_out(method: str) -> None:
    graphs = atoms()
    config = replace(SMALL, method=method)
    batch = GraphBatch(graphs, [0, 1])
    assert len(model_for(graphs, config)(batch)[1]) == 2
    assert model_for(graphs, replace(config, auxiliary=False))(batch)[1] == {}


@pytest.mark.parametrize("method", ["topk", "random"])
def test_who_has_nothing_to_learn_of_the_adjacency(method: str) -> None:
    with pytest.raises(UserError, match=f"{method} has nothing to learn of objective a"):
        model_for(points(), replace(SMALL, method=method, objective="a"))


def test_one_row_has_no_adjacency_to_learn() -> None:
    with pytest.raises(
        UserError, match=r"with ratio 0\.1 one row is left of a graph of 4\.8 nodes"
    ):
        model_for(points(), replace(SMALL, objective="a", ratio=0.1))


def test_graphs_without_features() -> None:
    bare = pack(
        name="bare", sizes=torch.tensor([2]), source=torch.tensor([0]), target=torch.tensor([1])
    )
    with pytest.raises(UserError, match="no node features"):
        model_for(bare, SMALL)


def test_one_molecule_can_be_learned_by_heart() -> None:
    """Every atom right: from 4 rows for 14 atoms of 5 types."""
    bonds = torch.tensor([[i, i + 1] for i in range(12)] + [[0, 5], [7, 12], [3, 13]])
    source, target = torch.cat([bonds, bonds.flip(1)]).t()
    types = torch.tensor([0, 1, 0, 0, 2, 0, 3, 1, 0, 0, 1, 0, 0, 4])
    molecule = pack(
        name="molecule", sizes=torch.tensor([14]), source=source, target=target,
        node_cat=types[:, None], cat_sizes=(5,),
    )  # fmt: skip
    model, batch = model_for(molecule, AutoencoderConfig()), GraphBatch(molecule, [0])
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    steps, out = 0, model(batch)[0]
    assert not torch.equal(out.argmax(1), types)
    while steps < 1500 and not torch.equal(out.argmax(1), types):
        optimizer.zero_grad()
        model.distance(out, model.labels(batch)).backward()
        optimizer.step()
        steps, out = steps + 1, model(batch)[0]
    assert torch.equal(out.argmax(1), types)


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
