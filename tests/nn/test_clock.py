"""Random numbers that are a function of a seed and a clock alone."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from gmpool.nn.clock import Clocked, clocks_of, set_clocks, uniform
from gmpool.nn.dropout import Dropout


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
