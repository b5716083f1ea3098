"""One training: a pure function of model, data, split, configuration and seed."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from gmpool.config import TrainConfig
from gmpool.engine.hands import ALONE, Hands
from gmpool.engine.training import Epoch, Training
from gmpool.errors import UserError
from gmpool.tasks.model_size import refuse_giants
from gmpool.tasks.protocols import Dataset, Watch
from gmpool.tasks.task import Split, Task
from gmpool.tasks.trainable import Rows, Trainable


@dataclass
class Trained:
    """A finished training: the model at its best validation, and how it got there."""

    model: Any
    best: Epoch
    test_metric: float
    """NaN without a test part."""
    test_loss: float
    seconds: float
    curve: list[Epoch] = field(default_factory=list)
    replicas: int = 1
    """How many runs were one program with this one; its seconds are a share of theirs."""
    ranks: int = 1
    """How many processes had a part of each batch."""
    outputs: dict[str, Rows] = field(default_factory=dict)
    """What `evaluate` gave of the validation and the test part, where the task scores that."""
    watched: dict[str, Any] = field(default_factory=dict)
    """What was seen of it by a `Watch` of its task."""


def train(
    task: Task,
    dataset: Any,
    split: Split,
    model: Any,
    config: TrainConfig,
    *,
    seed: int,
    device: str = "cpu",
    on_epoch: Callable[[Epoch], None] | None = None,
    hands: Hands = ALONE,
) -> Trained:
    """Train to the stopping rule, and test the weights that were best on the validation part;
    without one, the last.

    Global random state is left as it was: initial weights draw from a forked stream, the order of
    batches from a generator of its own, both seeded with `seed`. hands: who does the steps.
    """
    require_training_part(split, dataset)
    start = time.perf_counter()
    if fitted := task.fit(dataset, split, model):
        best = Epoch(0, math.nan, fitted.valid_loss, fitted.valid_metric)
        made = fitted.model, best, fitted.test_metric, math.nan, fitted.seconds
        return Trained(*made, outputs=dict(fitted.outputs))
    devices = [] if torch.device(device).type == "cpu" else [torch.device(device)]
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        there = task.data_for(dataset, model).to(device)
        begun = first_model(task, there, split, model, seed).to(device)
        watch = task.watch(there, split, model, config, device)
        metric = task.metric(dataset, model)
        hands.take_up(begun)
        training = Training(begun, there, split, config, metric, seed, hands)
        trained = _train(training, watch, on_epoch)
    found = trained.outputs.items() if task.scores_outputs else ()
    trained.outputs = {part: tuple(t.cpu() for t in rows) for part, rows in found if rows}
    trained.seconds = training.seconds_before + time.perf_counter() - start
    return trained


def require_training_part(split: Split, dataset: Dataset) -> None:
    if not len(split.train):
        raise UserError(f"the train part of the split of {dataset.name} is empty")


def _train(
    training: Training, watch: Watch | None, on_epoch: Callable[[Epoch], None] | None
) -> Trained:
    if (before := training.hands.found()) is not None:
        training.go_on(before)
    while not training.is_over:
        epoch = training.epoch()
        if watch:
            _show(training.model, watch, epoch.epoch)
        training.hands.keep(training.state)
        if on_epoch:
            on_epoch(epoch)
    test_loss, test_metric = training.tested()
    outputs = {"valid": training.best_rows, "test": training.test.rows}
    watched: dict[str, Any] = {}
    if watch:
        test_metric, watched = watch.said()
    assert training.best is not None
    found = training.model, training.best, test_metric, test_loss, 0.0, training.curve
    return Trained(*found, ranks=training.hands.count, outputs=outputs, watched=watched)


@torch.no_grad()
def _show(model: Trainable, watch: Watch, number: int) -> None:
    model.eval()
    device = next(model.parameters()).device
    watch.see(number, tuple(t.cpu() for t in model.sample(watch.numbers.to(device))))


def first_model(task: Task, dataset: Any, split: Split, config: Any, seed: int) -> Trainable:
    """The model with the weights that a seed begins with. Global random state stays as it was."""
    refuse_giants(lambda: task.build(dataset, config), config)
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        model = task.build(dataset, config)
    model.check_phases()
    model.begin(dataset, split.train)
    return model
