"""Random numbers that are a function of a seed and a clock alone."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from gmpool.errors import UserError
from gmpool.nn.clock import (
    Clocked,
    Dropout,
    RandomAssignment,
    clocks_of,
    from_uniform,
    normal,
    set_clocks,
    uniform,
)
from gmpool.ops.segment import Segments


def test_numbers_are_uniform_and_do_not_follow_each_other() -> None:
    u = uniform(torch.tensor(12345), torch.arange(200_000)).double()
    assert 0 <= u.min() < 1e-4
    assert 1 - 1e-4 < u.max() < 1
    assert abs(u.mean() - 0.5) < 0.003
    assert abs(u.var() - 1 / 12) < 0.001
    assert abs(((u[1:] - 0.5) * (u[:-1] - 0.5)).mean()) < 0.001
    share = torch.histc(u, 16, 0, 1) / len(u)
    assert (share - 1 / 16).abs().max() < 0.003


def test_a_place_has_its_number_whoever_else_asks() -> None:
    key = torch.tensor(7)
    whole = uniform(key, torch.arange(10))
    assert torch.equal(uniform(key, torch.tensor([8, 3])), whole[[8, 3]])
    assert not torch.equal(uniform(key + 1, torch.arange(10)), whole)


def test_every_tick_has_another_key_and_the_clock_decides_which() -> None:
    one = Clocked()
    keys = [int(one.tick()) for _ in range(4)]
    assert len(set(keys)) == 4
    assert int(one.clock) == 4
    set_clocks(one, 2)
    assert int(one.tick()) == keys[2]
    other = Clocked()
    assert int(other.seed) != int(one.seed)
    assert int(copy.deepcopy(one).tick()) == keys[3]


@pytest.mark.parametrize("keep", [True, False])
def test_a_seed_is_saved_where_it_is_asked_for_and_a_clock_never(keep: bool) -> None:
    assert list(Clocked(keep_seed=keep).state_dict()) == (["seed"] if keep else [])


def test_all_clocks_of_a_model_are_found_and_set() -> None:
    model = nn.Sequential(nn.Linear(2, 2), Dropout(0.5), nn.Sequential(Dropout(0.1)))
    buffers = dict(model.named_buffers())
    assert clocks_of(model) == ["1.clock", "2.0.clock"]
    assert clocks_of(model[1]) == ["clock"]
    set_clocks(model, 5)
    assert [int(buffers[name]) for name in clocks_of(model)] == [5, 5]


def made(rate: float = 0.25) -> Dropout:
    torch.manual_seed(0)
    return Dropout(rate)


def test_as_many_are_dropped_as_asked_for_and_the_rest_makes_up_for_them() -> None:
    out = made(0.25)(torch.ones(400, 500))
    assert out.unique().tolist() == pytest.approx([0.0, 1 / 0.75])
    assert abs((out == 0).float().mean() - 0.25) < 0.005
    assert abs(out.mean() - 1) < 0.005
    dropped = (out == 0).float()
    assert (dropped.mean(0) - 0.25).abs().max() < 0.1  # in no column more than elsewhere


def test_other_ones_in_every_step_and_the_same_again_from_the_start() -> None:
    one, x = made(), torch.ones(50, 40)
    twin = copy.deepcopy(one)
    torch.manual_seed(99)  # what else draws does not matter
    steps = [one(x) for _ in range(3)]
    assert all(torch.equal(step, twin(x)) for step in steps)
    assert not torch.equal(steps[0], steps[1])
    assert not torch.equal(steps[0], Dropout(0.25)(x))  # a seed of its own


def test_evaluation_drops_nothing_and_does_not_count() -> None:
    one, x = made().eval(), torch.ones(3, 4)
    assert one(x) is x
    assert int(one.clock) == 0


def test_gradients_pass_where_numbers_pass() -> None:
    x = torch.ones(30, 20, requires_grad=True)
    out = made(0.5)(x)
    out.sum().backward()
    assert torch.equal(x.grad, out.detach())


def test_nothing_of_it_is_saved() -> None:
    assert made().state_dict() == {}


@pytest.mark.parametrize("rate", [-0.1, 1.0, 1.5])
def test_a_rate_out_of_range(rate: float) -> None:
    with pytest.raises(UserError, match=r"dropout must lie in \[0, 1\), got"):
        Dropout(rate)


K = 5


def drawn(seed: int = 0) -> RandomAssignment:
    torch.manual_seed(seed)
    return RandomAssignment(K)


def shares(assign: RandomAssignment, ids: list[int], size: int = 7) -> torch.Tensor:
    """[B, size, K]"""
    segments = Segments.uniform(len(ids), size)
    return assign(torch.tensor(ids), segments, torch.float64).view(len(ids), size, K)


def test_every_graph_and_every_node_has_its_own() -> None:
    c = shares(drawn().eval(), [3, 8, 3])
    assert torch.equal(c[0], c[2])
    assert len(torch.cat([c[0], c[1]]).unique(dim=0)) == 14
    torch.testing.assert_close(c.sum(2), torch.ones(3, 7).double())


def test_an_evaluation_finds_them_again_whatever_the_batch() -> None:
    assign = drawn().eval()
    assert torch.equal(shares(assign, [4])[0], shares(assign, [1, 2, 4])[2])
    assert torch.equal(shares(assign, [4]), shares(drawn().eval(), [4]))
    again = drawn(seed=1)
    assert not torch.equal(shares(assign, [4]), shares(again.eval(), [4]))
    again.load_state_dict(assign.state_dict())
    assert torch.equal(shares(assign, [4]), shares(again, [4])), "the seed is kept with the weights"


def test_a_training_draws_anew_in_every_step() -> None:
    assign, twin = drawn().train(), drawn().train()
    steps = [shares(assign, [0, 1]) for _ in range(3)]
    assert not torch.equal(steps[0], steps[1])
    assert not torch.equal(steps[1], steps[2])
    assert all(torch.equal(step, shares(twin, [0, 1])) for step in steps)
    still = shares(assign.eval(), [0, 1])
    assert all(not torch.equal(step, still) for step in steps)


def test_nothing_of_it_is_trained() -> None:
    assert list(drawn().parameters()) == []


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
