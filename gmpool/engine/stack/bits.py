"""Whether the adjacency of a stack's batches can be bits instead of lists of entries."""

from __future__ import annotations

from copy import deepcopy

import torch

from gmpool.data import PackedGraphs
from gmpool.data.adjacency_bits import is_dense
from gmpool.data.fixed_batch import FixedBatches
from gmpool.graph.dense_adjacency import EntriesNotKept
from gmpool.ops import choice
from gmpool.tasks.trainable import Trainable


def multiplies_with_bits(model: Trainable, graphs: PackedGraphs) -> bool:
    """On a GPU, for dense graphs, where the network only ever multiplies with the adjacency."""
    weight = next(model.parameters())
    fast = choice.triton_serves(weight.new_empty(0, device=graphs.device)) and is_dense(graphs)
    return fast and graphs._adjacency_bits is not None and _only_multiplies(model, graphs)


def _only_multiplies(model: Trainable, graphs: PackedGraphs) -> bool:
    """Seen by letting the network read one graph."""
    batches, first = FixedBatches(graphs, plain=False, dense=True), torch.tensor([[0]])
    batch = batches.make(first.to(graphs.device), batches.bounds(first))
    one = batch.with_({name: tensor[0] for name, tensor in batch.tensors().items()})
    try:
        with torch.no_grad():
            deepcopy(model).to(graphs.device).eval()(one)
    except EntriesNotKept:
        return False
    return True
