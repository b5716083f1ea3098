"""A model is counted before it is made."""

from __future__ import annotations

import pytest
import torch
from small_sets import dataset
from torch import nn

from gmpool.data import generate
from gmpool.errors import UserError
from gmpool.tasks import model_size
from gmpool.tasks.model_size import refuse_giants
from gmpool.tasks.task import TASKS

SETS = {"classify": dataset(), "reconstruct": generate("ring", n=20)}


@pytest.mark.parametrize(
    ("name", "method"), [(name, method) for name in SETS for method in TASKS[name].methods()]
)
def test_every_model_is_counted_as_it_is(
    name: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, data = TASKS[name], SETS[name]
    config, _ = task.settings(task.card_of(data), method, {"hidden_dim": 8})
    count = sum(weight.numel() for weight in task.build(data, config).parameters())
    before = torch.get_rng_state()
    monkeypatch.setattr(model_size, "_SMALL", 0)
    monkeypatch.setattr(model_size, "MOST_PARAMETERS", count)
    refuse_giants(lambda: task.build(data, config), config)
    monkeypatch.setattr(model_size, "MOST_PARAMETERS", count - 1)
    with pytest.raises(UserError, match=f"the model would have {count:,} parameters"):
        refuse_giants(lambda: task.build(data, config), config)
    assert torch.equal(torch.get_rng_state(), before), "the random stream stays as it was"


def test_a_giant_takes_no_memory_and_a_small_one_is_not_made_twice() -> None:
    task, data = TASKS["classify"], SETS["classify"]
    config, _ = task.settings(task.card_of(data), "gmt", {"hidden_dim": 100_000, "num_heads": 1})
    with pytest.raises(UserError, match="make hidden_dim=100,000 smaller"):
        refuse_giants(lambda: task.build(data, config), config)
    usual, _ = task.settings(task.card_of(data), "gmt", {})

    def never() -> nn.Module:
        raise AssertionError

    refuse_giants(never, usual)
