"""How many replicas fit: measured on a GPU, counted on a CPU."""

from collections.abc import Sequence
from typing import Any

import torch

from gmpool.engine.stack.members import Member
from gmpool.engine.stack.replicas import Replicas
from gmpool.engine.stack.shuffles import Shuffles
from gmpool.engine.stack.stack import SLACK
from gmpool.engine.train import first_model
from gmpool.tasks.task import Task

SHARE = 0.6
"""Of the free memory that a stack may take; captured programs and fragments take the rest."""
COPIES = 5
"""Of the weights: themselves, the best so far, two moments and the gradient."""
CPU_ROWS = 2**16
"""Rows in a step on a CPU, beyond which a stack gains nothing."""


def largest_stack(
    task: Task, dataset: Any, members: Sequence[Member], device: str, *, beside: int = 0
) -> int:
    """As many of the members as the device's memory holds at once, at least one.

    beside: how many more stacks, not begun yet, will want as large a part of the memory."""
    if torch.device(device).type == "cpu":
        rows = max(1.0, members[0].train.batch_size * task.size(dataset))
        return max(1, min(len(members), int(CPU_ROWS / rows)))
    there = task.data_for(dataset, members[0].model).to(device)
    few, more = (_peak(task, there, members[:n], device) for n in (1, min(3, len(members))))
    each = (more - few) / 2 if len(members) > 2 else few
    free, _ = torch.cuda.mem_get_info(device)
    return max(1, min(len(members), int(SHARE * free / (1 + beside) / max(each, 1))))


def _peak(task: Task, dataset: Any, members: Sequence[Member], device: str) -> float:
    """Bytes that a step of these members takes."""
    models = [first_model(task, dataset, m.split, m.model, m.seed) for m in members]
    batches = task.fixed_batches(dataset, models[0])
    size = members[0].train.batch_size
    seeds, steps = [m.seed for m in members], members[0].train.epoch_steps
    shuffles = Shuffles([m.split.train for m in members], seeds, size, steps)
    ids = next(part for part in shuffles.draw(1, batches.empty) if part.shape[1])[:, 0]
    replicas = Replicas(models, torch.device(device))
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    batch = batches.make(ids.to(device), batches.bounds(ids))
    for at in range(len(replicas.blocks)):
        replicas.gradients(batch, at)
    torch.cuda.synchronize(device)
    activations = SLACK * (torch.cuda.max_memory_allocated(device) - before)
    return activations + COPIES * sum(weights.nbytes for weights in replicas.weights)
