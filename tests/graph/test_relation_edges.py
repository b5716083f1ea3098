"""Edges of several kinds: what they gather, by which numbers it moves, and many of them at once."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd import grad, gradcheck, gradgradcheck

from gmpool.graph.relation_edges import RelationEdges


def numbers(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator).requires_grad_()


def by_loops(relations: Tensor, x: Tensor) -> Tensor:
    """Node by node and kind by kind."""
    B, T, n, _ = relations.shape
    rows = []
    for graph in range(B):
        own = x[graph * n : (graph + 1) * n]
        for node in range(n):
            parts = [own[node]]
            for kind in range(T):
                weights = relations[graph, kind, node]
                parts.append(sum((weights[j] * own[j] for j in range(n)), torch.zeros_like(own[0])))
            rows.append(torch.cat(parts))
    return torch.stack(rows)


def propagated(relations: Tensor, x: Tensor) -> Tensor:
    return RelationEdges(relations).propagated(x)


def test_each_kind_is_gathered_beside_a_nodes_own_row() -> None:
    relations, x = numbers(2, 3, 4, 4), numbers(8, 5, seed=1)
    found, expected = propagated(relations, x), by_loops(relations, x)
    assert found.shape == (8, (1 + 3) * 5)
    torch.testing.assert_close(found, expected)
    weight = numbers(8, 20, seed=2).detach()
    for mine, theirs in zip(
        grad((found * weight).sum(), (relations, x)),
        grad((expected * weight).sum(), (relations, x)),
        strict=True,
    ):
        torch.testing.assert_close(mine, theirs)


def test_the_weight_is_of_the_edge_from_the_column_to_the_row() -> None:
    relations = torch.zeros(1, 2, 3, 3)
    relations[0, 1, 0, 2] = 0.5
    found = propagated(relations, torch.tensor([[1.0], [2.0], [8.0]]))
    assert found.tolist() == [[1.0, 0.0, 4.0], [2.0, 0.0, 0.0], [8.0, 0.0, 0.0]]


def test_first_and_second_derivatives() -> None:
    given = (numbers(2, 2, 3, 3), numbers(6, 2, seed=1))
    assert gradcheck(propagated, given)
    assert gradgradcheck(propagated, given)


def test_a_graph_hears_nothing_of_another() -> None:
    relations, x = numbers(2, 2, 3, 3), numbers(6, 2, seed=1)
    (moved,) = grad(propagated(relations, x)[:3].sum(), x)
    assert moved[:3].ne(0).all()
    assert moved[3:].eq(0).all()


def test_as_edges_of_one_kind_they_are_the_sum_over_kinds() -> None:
    relations, x = numbers(2, 3, 4, 4), numbers(8, 5, seed=1)
    edges = RelationEdges(relations)
    torch.testing.assert_close(edges.blocks, relations[:, 0] + relations[:, 1] + relations[:, 2])
    summed = by_loops(relations, x)[:, 5:].unflatten(1, (3, 5)).sum(1)
    torch.testing.assert_close(edges.plain.matmul(x), summed)
    (moved,) = grad(edges.plain.matmul(x).sum(), relations)
    torch.testing.assert_close(moved[:, 0], moved[:, 2])
    assert moved.ne(0).all()


def test_several_replicas_at_once_are_each_alone() -> None:
    relations, x = numbers(4, 2, 3, 5, 5), numbers(4, 10, 2, seed=1)
    together = torch.vmap(propagated)(relations, x)
    alone = torch.stack([propagated(a, b) for a, b in zip(relations, x, strict=True)])
    torch.testing.assert_close(together, alone)
    for mine, theirs in zip(
        grad(together.square().sum(), (relations, x)),
        grad(alone.square().sum(), (relations, x)),
        strict=True,
    ):
        torch.testing.assert_close(mine, theirs)


def test_a_kind_without_an_edge_is_zero_and_learns() -> None:
    """A generator that is sure of no bond still has a gradient that could make one."""
    relations = torch.zeros(1, 2, 3, 3, dtype=torch.float64, requires_grad=True)
    x = numbers(3, 2, seed=1)
    found = propagated(relations, x)
    assert torch.equal(found[:, :2], x)
    assert found[:, 2:].eq(0).all()
    (moved,) = grad(found.sum(), relations)
    torch.testing.assert_close(moved, x.detach().sum(1).expand(1, 2, 3, 3))
