"""The laws of every pooling in the critic's place."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tiny_gan import ALPHABET, LINES, graphs, tiny_gan
from torch import Tensor

from gmpool.errors import UserError
from gmpool.graph import Segments
from gmpool.graph.relation_edges import RelationEdges
from gmpool.tasks.generate.networks import Critic, parameters_of
from gmpool.tasks.generate.poolings import POOLINGS, pooling_options
from gmpool.tasks.generate.settings import MolGANConfig
from gmpool.tasks.generate.task import Generate
from gmpool.tasks.readouts import MeanOfClusters

EVERY = pytest.mark.parametrize("line", LINES.values(), ids=LINES)
N, KINDS = ALPHABET.places, ALPHABET.bond_kinds


def permuted(graph: Tensor, order: list[int]) -> Tensor:
    """The same graphs with place order[i] at place i. [B, F]"""
    bonds = graph[:, : N * N * KINDS].unflatten(1, (N, N, KINDS))
    atoms = graph[:, N * N * KINDS :].unflatten(1, (N, -1))
    return torch.cat([bonds[:, order][:, :, order].flatten(1), atoms[:, order].flatten(1)], dim=1)


def test_all_are_there() -> None:
    assert {line["method"] for line in LINES.values()} == set(POOLINGS)
    assert all(Generate().about(name).endswith(".") for name in POOLINGS)


@EVERY
def test_the_order_of_atoms_does_not_count(line: dict[str, Any]) -> None:
    critic, given = tiny_gan(**line).critic, graphs()
    soft = (given + 0.3 * torch.rand(given.shape, dtype=given.dtype)) / 2
    bonds = soft[:, : N * N * KINDS].unflatten(1, (N, N, KINDS))
    even = (bonds + bonds.transpose(1, 2)).flatten(1)
    soft = torch.cat([even, soft[:, N * N * KINDS :]], dim=1)
    for order in ([1, 0, 2, 3], [3, 1, 0, 2]):
        torch.testing.assert_close(critic(permuted(soft, order)), critic(soft), rtol=0, atol=1e-12)


@EVERY
def test_batch_mates_do_not_count(line: dict[str, Any]) -> None:
    critic, given = tiny_gan(**line).critic, graphs()
    alone = torch.cat([critic(each[None]) for each in given])
    torch.testing.assert_close(critic(given), alone, rtol=0, atol=1e-12)


@EVERY
def test_bonds_and_atoms_reach_the_score(line: dict[str, Any]) -> None:
    """Soft ones, through the convolutions and the pooling."""
    critic, given = tiny_gan(**line).critic, graphs().requires_grad_()
    (slope,) = torch.autograd.grad(critic(given).sum(), given)
    bonds = slope[:, : N * N * KINDS].unflatten(1, (N, N, KINDS))
    assert bonds[..., 1:].abs().sum((1, 2, 3)).min() > 0
    assert bool((bonds[..., 0] == 0).all()), "no bond is nothing that is read"
    assert slope[:, N * N * KINDS :].abs().sum(1).min() > 0


@EVERY
def test_the_pooling_itself_reads_soft_bonds_where_it_reads_any(line: dict[str, Any]) -> None:
    pooling = tiny_gan(**line).critic.pooling
    torch.manual_seed(1)
    width = next((p.shape[-1] for n, p in pooling.named_parameters() if "seeds" in n), 4)
    rows = torch.randn(3 * N, width, dtype=torch.float64, requires_grad=True)
    bonds = torch.rand(3, KINDS - 1, N, N, dtype=torch.float64, requires_grad=True)
    vectors, losses = pooling(rows, RelationEdges(bonds), Segments.uniform(3, N))
    total = vectors.square().sum() + sum(losses.values())
    (slope,) = torch.autograd.grad(total, bonds, allow_unused=True, materialize_grads=True)
    assert bool(slope.any()) == (line["method"] in ("gmpool", "gmt", "mincut"))


@EVERY
def test_second_derivatives_are_those_of_difference_quotients(line: dict[str, Any]) -> None:
    """Of the gradient penalty by the critic's weights, in a random direction."""
    model = tiny_gan(**line)
    critic = model.critic
    torch.manual_seed(3)  # no two places are alike: a maximum has a kink there
    given = graphs() * 0.7 + 0.3 * torch.rand(graphs().shape, dtype=torch.float64)

    def penalty() -> Tensor:
        x = given.clone().requires_grad_()
        (slope,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
        return (slope.square().sum(1).sqrt() - 1).square().mean()

    weights = list(critic.parameters())
    torch.manual_seed(2)
    ways = [torch.randn_like(w) for w in weights]
    grads = torch.autograd.grad(penalty(), weights, allow_unused=True, materialize_grads=True)
    slope = float(sum((g * way).sum() for g, way in zip(grads, ways, strict=True)))

    def moved(by: float) -> float:
        with torch.no_grad():
            for weight, way in zip(weights, ways, strict=True):
                weight += by * way
        found = float(penalty().detach())
        with torch.no_grad():
            for weight, way in zip(weights, ways, strict=True):
                weight -= by * way
        return found

    step = 1e-5
    quotient = (moved(step) - moved(-step)) / (2 * step)
    assert abs(slope) > 1e-4
    assert slope == pytest.approx(quotient, rel=1e-5)


def test_the_mean_over_clusters_is_a_part_of_the_sum() -> None:
    """Whatever the clusters are, because each place is shared out wholly."""
    pooling = MeanOfClusters(5, conv="gcn", num_clusters=3).double()
    rows = torch.randn(4 * N, 5, dtype=torch.float64)
    edges = RelationEdges(torch.rand(4, 2, N, N, dtype=torch.float64))
    vectors, losses = pooling(rows, edges, Segments.uniform(4, N))
    torch.testing.assert_close(vectors, rows.view(4, N, 5).sum(1) / 3)
    assert set(losses) == {"cut", "orthogonality"}


def test_the_wide_mean_has_the_parameters_of_gmpool() -> None:
    from molecule_rows import QM9

    counts = {m: parameters_of(Critic(QM9, MolGANConfig(method=m))) for m in POOLINGS}
    assert counts["mean"] == counts["sum"] == counts["max"] == 88_705
    assert counts["gmpool"] == 285_953
    assert counts["mean-wide"] == pytest.approx(counts["gmpool"], rel=2e-3)


def test_options_are_those_of_the_constructor() -> None:
    assert set(pooling_options("gmpool")) == {"num_heads", "softmax"}
    assert set(pooling_options("mean")) == set()
    with pytest.raises(UserError, match="softmax axis 'rows'"):
        tiny_gan(method="gmpool", pool={"num_heads": 2, "softmax": "rows"})
