"""What is dropped is a function of seed, step and place."""

from __future__ import annotations

import copy

import pytest
import torch

from gmpool.errors import UserError
from gmpool.nn.dropout import Dropout


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
