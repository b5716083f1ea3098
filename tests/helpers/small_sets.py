"""Small sets and quick settings for tests that train."""

from __future__ import annotations

import torch
from torch_geometric.data import Data

from gmpool.config import TrainConfig
from gmpool.data import Dataset, PackedGraphs, Split, from_pyg
from gmpool.data.splits import stratified_folds
from gmpool.tasks.classify.settings import ModelConfig

MODEL = ModelConfig(hidden_dim=8, num_layers=1, dropout=0.0)
QUICK = TrainConfig(epochs=3, warmup_epochs=1, batch_size=8, lr=5e-3)
OPTIONS = {"hidden_dim": 8, "num_layers": 1, "epochs": 3, "warmup_epochs": 1, "batch_size": 8}
# The same for the command line, as short as a run can be.
FLAGS = [word for key, value in OPTIONS.items() for word in ("-o", f"{key}={value}")]
TEN_MOLECULES = (
    "C", "CC", "CCO", "C=O", "c1ccccc1", "CC(=O)O", "CN", "C#N", "CCCl", "c1ccncc1"
)  # fmt: skip


def rings_and_paths(count: int = 24, seed: int = 0) -> list[Data]:
    """Rings (class 1) and paths (class 0) in turn, of 3 to 7 nodes with three random features."""
    generator = torch.Generator().manual_seed(seed)
    made = []
    for number in range(count):
        size = int(torch.randint(3, 8, (), generator=generator))
        start = torch.arange(size if number % 2 else size - 1)
        edge = torch.stack([start, (start + 1) % size])
        made.append(
            Data(
                x=torch.randn(size, 3, generator=generator),
                edge_index=torch.cat([edge, edge.flip(0)], 1),
                y=torch.tensor([number % 2]),
            )
        )
    return made


def classes(count: int = 24) -> PackedGraphs:
    return from_pyg(rings_and_paths(count), name="shapes")


def with_labels(y: torch.Tensor, task: str) -> PackedGraphs:
    """The same graphs with the float labels y [G, T]."""
    graphs = rings_and_paths(len(y))
    for data, labels in zip(graphs, y, strict=True):
        data.y = labels
    return from_pyg(graphs, name="shapes", task=task)


def dataset(count: int = 24, folds: int = 3) -> Dataset:
    graphs = classes(count)
    assert graphs.y is not None
    return Dataset("shapes", graphs, stratified_folds(graphs.y, folds), "accuracy")


def split(count: int = 24) -> Split:
    """Half for training, a quarter each for validation and test."""
    ids = torch.arange(count)
    return Split(ids[: count // 2], ids[count // 2 : 3 * count // 4], ids[3 * count // 4 :])


def ring_molecule(n: int, y: int = 0) -> Data:
    """Atoms of two categories and bonds of three, each bond with one kind seen from both ends. It
    stands for a molecule where there is no RDKit to read one."""
    ends = [[i, (i + 1) % n] for i in range(n if n > 2 else 0)]
    edges = torch.tensor(ends, dtype=torch.int64).view(-1, 2)
    kinds = torch.stack([torch.randint(size, (len(edges),)) for size in (4, 3, 2)], dim=1)
    return Data(
        x=torch.stack([torch.randint(5, (n,)), torch.randint(3, (n,))], dim=1),
        edge_index=torch.cat([edges, edges.flip(1)]).t().contiguous(),
        edge_attr=torch.cat([kinds, kinds]),
        y=torch.tensor([y]),
    )
