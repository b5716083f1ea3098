"""Graphs trained alone and stacked, by the task that the configuration of a model is of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gmpool.data import Dataset, PackedGraphs, Split
from gmpool.engine.stack.members import Member
from gmpool.engine.stack.stack import Outcome
from gmpool.engine.stack.turns import Stacking, train_stacked
from gmpool.engine.train import Trained, first_model, train
from gmpool.tasks.protocols import FixedBatches
from gmpool.tasks.reconstruct.settings import AutoencoderConfig
from gmpool.tasks.task import TASKS, Task


def task_for(model: Any) -> Task:
    return TASKS["reconstruct" if isinstance(model, AutoencoderConfig) else "classify"]


def as_set(graphs: PackedGraphs) -> Dataset:
    """Without splits: those are given with each training."""
    return Dataset.of(graphs, ())


def begun(graphs: PackedGraphs, part: Split, model: Any, seed: int) -> Any:
    """The model that a training begins with."""
    return first_model(task_for(model), as_set(graphs), part, model, seed)


def alone(graphs: PackedGraphs, member: Member, **more: Any) -> Trained:
    part, model, config, seed = member
    return train(task_for(model), as_set(graphs), part, model, config, seed=seed, **more)


def stacked(graphs: PackedGraphs, members: Sequence[Member], **more: Any) -> list[Outcome]:
    return train_stacked(task_for(members[0].model), as_set(graphs), members, **more)


def stacking(graphs: PackedGraphs, members: Sequence[Member], on_epoch: Any = None) -> Stacking:
    return Stacking(task_for(members[0].model), as_set(graphs), members, on_epoch)


def fixed_batches(graphs: PackedGraphs, model: Any) -> FixedBatches:
    """As a stack makes them for a model."""
    return task_for(model.config).fixed_batches(as_set(graphs), model)
