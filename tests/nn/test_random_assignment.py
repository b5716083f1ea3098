"""Random clusters: random for each graph, never trained, the same again from the seed."""

from __future__ import annotations

import torch

from gmpool.nn.random_assignment import RandomAssignment, from_uniform, normal
from gmpool.ops.segment import Segments

K = 5


def made(seed: int = 0) -> RandomAssignment:
    torch.manual_seed(seed)
    return RandomAssignment(K)


def shares(assign: RandomAssignment, ids: list[int], size: int = 7) -> torch.Tensor:
    """[B, size, K]"""
    segments = Segments.uniform(len(ids), size)
    return assign(torch.tensor(ids), segments, torch.float64).view(len(ids), size, K)


def test_every_graph_and_every_node_has_its_own() -> None:
    c = shares(made().eval(), [3, 8, 3])
    assert torch.equal(c[0], c[2])
    assert len(torch.cat([c[0], c[1]]).unique(dim=0)) == 14
    torch.testing.assert_close(c.sum(2), torch.ones(3, 7).double())


def test_an_evaluation_finds_them_again_whatever_the_batch() -> None:
    assign = made().eval()
    assert torch.equal(shares(assign, [4])[0], shares(assign, [1, 2, 4])[2])
    assert torch.equal(shares(assign, [4]), shares(made().eval(), [4]))
    again = made(seed=1)
    assert not torch.equal(shares(assign, [4]), shares(again.eval(), [4]))
    again.load_state_dict(assign.state_dict())
    assert torch.equal(shares(assign, [4]), shares(again, [4])), "the seed is kept with the weights"


def test_a_training_draws_anew_in_every_step() -> None:
    assign, twin = made().train(), made().train()
    steps = [shares(assign, [0, 1]) for _ in range(3)]
    assert not torch.equal(steps[0], steps[1])
    assert not torch.equal(steps[1], steps[2])
    assert all(torch.equal(step, shares(twin, [0, 1])) for step in steps)
    still = shares(assign.eval(), [0, 1])
    assert all(not torch.equal(step, still) for step in steps)


def test_nothing_of_it_is_trained() -> None:
    assert list(made().parameters()) == []


def test_the_ends_of_the_scale_are_finite_and_alike() -> None:
    """One number in 16 million is such an end: a training of ZINC draws a few in every epoch."""
    low, high = from_uniform(torch.tensor([0.0, 1 - 2.0**-24])).tolist()
    assert -6 < low < -5
    assert high == -low


def test_the_numbers_are_standard_normal() -> None:
    x = normal(torch.tensor(12345), torch.arange(200_000)).double()
    assert abs(x.mean()) < 0.01
    assert abs(x.std() - 1) < 0.01
    inside = (x.abs() < 1.959964).double().mean()
    assert abs(inside - 0.95) < 0.003
    assert x.isfinite().all()
    assert abs((x[1:] * x[:-1]).mean()) < 0.01
