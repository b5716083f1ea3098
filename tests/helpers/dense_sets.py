"""Sets of dense graphs for tests, and batches of them."""

from __future__ import annotations

import torch
from graphs import random_batch
from torch import Tensor

from gmpool.data import PackedGraphs
from gmpool.data.pack import pack
from gmpool.ops.dense_product import DenseGraphs

SIZES = [1, 2, 31, 32, 33, 64, 65, 100]


def dense_set(sizes: list[int] = SIZES, *, density: float = 0.5, seed: int = 0) -> PackedGraphs:
    """Graphs of these sizes with three random features for each node and two classes."""
    made = random_batch(sizes, 3, density=density, seed=seed, dtype=torch.float32)
    graphs = pack(
        name="dense",
        sizes=torch.tensor(sizes),
        source=made.edge_index[0],
        target=made.edge_index[1],
        node_float=made.x,
        y=torch.arange(len(sizes)) % 2,
        task="multiclass",
        class_names=("0", "1"),
    )
    return graphs.validate()


def graphs_of(
    graphs: PackedGraphs, ids: list[int], made_up: int = 0, device: str = "cpu"
) -> tuple[DenseGraphs, Tensor]:
    """Some graphs of a set, and then some made-up nodes; and the scales of Â."""
    bits = graphs.adjacency_bits
    assert bits is not None
    sizes = [int(graphs.sizes[i]) if i < graphs.num_graphs else 0 for i in ids] + [made_up]
    ptr = torch.tensor([0, *sizes]).cumsum(0)
    *rest, scale = (t.to(device) for t in bits)
    numbers = torch.tensor([*ids, graphs.num_graphs])
    return DenseGraphs(numbers.to(device), ptr.to(device), *rest), scale
