"""How many replicas fit: measured on a GPU, counted on a CPU."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from gmpool.data import PackedGraphs
from gmpool.engine.stack.replicas import Replicas
from gmpool.engine.stack.shuffles import Shuffles
from gmpool.engine.stack.stack import SLACK, Run, batches_for
from gmpool.engine.train import first_model

SHARE = 0.6
"""Of the free memory that a stack may take; captured programs and fragments take the rest."""
COPIES = 5
"""Of the weights: themselves, the best so far, two moments and the gradient."""
CPU_NODES = 2**16
"""Nodes in a step on a CPU, beyond which a stack gains nothing."""


def largest_stack(
    graphs: PackedGraphs, runs: Sequence[Run], device: str, *, beside: int = 0
) -> int:
    """As many of the runs as the device's memory holds at once, at least one.

    beside: how many more stacks, not begun yet, will want as large a part of the memory."""
    if torch.device(device).type == "cpu":
        nodes = max(1.0, runs[0].train.batch_size * graphs.mean_nodes)
        return max(1, min(len(runs), int(CPU_NODES / nodes)))
    graphs = graphs.to(device)
    few, more = (_peak(graphs, runs[:count], device) for count in (1, min(3, len(runs))))
    each = (more - few) / 2 if len(runs) > 2 else few
    free, _ = torch.cuda.mem_get_info(device)
    return max(1, min(len(runs), int(SHARE * free / (1 + beside) / max(each, 1))))


def _peak(graphs: PackedGraphs, runs: Sequence[Run], device: str) -> float:
    """Bytes that a step of these runs takes."""
    models = [first_model(graphs, run.split, run.model, run.seed) for run in runs]
    batches = batches_for(models[0], graphs)
    size = runs[0].train.batch_size
    shuffles = Shuffles([run.split.train for run in runs], [run.seed for run in runs], size)
    ids = next(part for part in shuffles.draw(1, batches.empty) if part.shape[1])[:, 0]
    replicas = Replicas(models, torch.device(device))
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    replicas.gradients(batches.make(ids.to(device), batches.bounds(ids)))
    torch.cuda.synchronize(device)
    activations = SLACK * (torch.cuda.max_memory_allocated(device) - before)
    return activations + COPIES * replicas.weights.nbytes
