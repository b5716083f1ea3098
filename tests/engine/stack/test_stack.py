"""What a stack on its way knows of its members."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from small_sets import MODEL, QUICK, classes, with_labels
from trainings import as_set, begun, task_for
from twenty_steps import splits

from gmpool.engine.stack.members import Member
from gmpool.engine.stack.stack import EPOCHS_AHEAD, ROWS_LIKE_MAKING, Stack


def test_a_stack_shrinks_when_the_stopped_have_cost_as_much_as_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    configs = [replace(QUICK, epochs=epochs, patience=None) for epochs in (1, 500)]
    runs = [Member(part, MODEL, c, seed=1) for part, c in zip(splits(2), configs, strict=True)]
    graphs = classes()
    idle = int(2.5 * EPOCHS_AHEAD)  # between those after two and after three times so many epochs
    monkeypatch.setitem(ROWS_LIKE_MAKING, "cpu", idle * graphs.num_nodes)
    stack = Stack(task_for(MODEL), as_set(graphs), runs, torch.device("cpu"))
    epochs = stack.run(None)
    for number in range(3 * EPOCHS_AHEAD):
        assert next(epochs) == []
        assert stack.idle == number, "since the first epoch"
    assert stack.alive == [0, 1]
    assert stack.running == [1]
    assert [number for number, _ in next(epochs)] == [0]
    assert stack.alive == [1]
    assert stack.idle == 0


@pytest.mark.parametrize(("task", "models"), [("binary", 2), ("regression", 3)])
def test_who_begins_alike_is_made_once(task: str, models: int) -> None:
    """But in regression, where a model knows its training labels."""
    graphs = with_labels(torch.arange(24.0).remainder(2)[:, None], task)
    runs = [Member(p, MODEL, QUICK, seed) for p, seed in zip(splits(3), (1, 1, 2), strict=True)]
    stack = Stack(task_for(MODEL), as_set(graphs), runs, torch.device("cpu"))
    assert len(stack.models) == models
    replicas = stack.program.replicas
    (block,), (weights,) = replicas.blocks, replicas.weights
    alone = [begun(graphs, run.split, run.model, run.seed) for run in runs]
    assert torch.equal(weights, torch.stack([block.row(model) for model in alone]))
