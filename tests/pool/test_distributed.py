"""DistributedDataParallel without find_unused_parameters: every weight is heard of."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from graphs import random_batch
from in_ranks import by_two
from torch.nn.parallel import DistributedDataParallel

from gmpool import GraphMultisetTransformer
from gmpool.engine.group import Group
from gmpool.nn.no_influence import without_influence
from gmpool.pool import METHODS
from gmpool.pool.gmt import PRESETS
from gmpool.pool.method import GraphSizes

WIDTH = 5
SIZES = GraphSizes(6.0, (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12))
BLOCKS = ("GMPool_G-SelfAtt-GMPool_I", "GMPool_I-GMPool_G", "GMPool_G", "SelfAtt-GMPool_I")
CASES: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in METHODS),
    *(
        ("gmt", {"softmax": axis, "preset": preset, "blocks": blocks, "conv": conv})
        for axis, preset, blocks, conv in product(
            ("seeds", "nodes"), PRESETS, BLOCKS, ("gcn", "gin", None)
        )
    ),
    *(("gmt", {"softmax": axis, "later_adjacency": "coarsened"}) for axis in ("seeds", "nodes")),
    ("structpool", {"rounds": 0}),
    ("structpool", {"readout": "convolution"}),
    ("mempool", {"kl_weight": 0.0}),
]


def begin(place: Path, rank: int, world: int) -> None:
    dist.init_process_group("gloo", init_method=f"file://{place}", rank=rank, world_size=world)


def readout() -> GraphMultisetTransformer:
    torch.manual_seed(0)
    return GraphMultisetTransformer(WIDTH, 4, num_seeds=3)


def gradients(group: Group, steps: int) -> list[list[float]]:
    model = DistributedDataParallel(readout())
    batch = random_batch([4, 3], WIDTH, seed=group.rank, dtype=torch.float32)
    for _ in range(steps):
        model.zero_grad()
        model(batch.x, batch.edge_index, batch.batch).square().sum().backward()
    return [p.grad.flatten().tolist() for p in model.parameters()]


def test_two_processes_share_the_mean_of_their_gradients(tmp_path: Path) -> None:
    """Both are new: what tests before this one have left in a process is none of their business."""
    found = by_two(gradients, 2, tmp_path)
    model = readout()
    for rank in range(2):
        batch = random_batch([4, 3], WIDTH, seed=rank, dtype=torch.float32)
        (model(batch.x, batch.edge_index, batch.batch).square().sum() / 2).backward()
    for rank in range(2):
        for there, weight in zip(found[rank], model.parameters(), strict=True):
            here = torch.zeros_like(weight) if weight.grad is None else weight.grad
            torch.testing.assert_close(torch.tensor(there), here.flatten())


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A group of one process."""
    begin(tmp_path_factory.mktemp("group") / "meet", 0, 1)
    yield
    dist.destroy_process_group()


@pytest.mark.parametrize(("name", "options"), CASES)
def test_every_weight_gets_a_gradient(alone: None, name: str, options: dict[str, Any]) -> None:
    pool = METHODS[name](WIDTH, 8, sizes=SIZES, **options)
    if not list(pool.parameters()):
        return
    model = DistributedDataParallel(pool)
    for sizes, density in (([1], 0.0), ([5, 1, 8], 0.5)):  # a second step would find a first undone
        batch = random_batch(sizes, WIDTH, density=density, dtype=torch.float32)
        model.zero_grad()
        pooled = model(batch.x, batch.edge_index, batch.batch, batch_size=batch.size)
        (pooled.x.square().sum() + sum(pooled.losses.values())).backward()
        assert [n for n, p in pool.named_parameters() if p.grad is None] == []


def test_weights_without_influence_are_visited_and_given_nothing() -> None:
    x, weight = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    out = without_influence(2 * x, weight)
    visited: list[torch.Tensor | None] = []
    weight.register_hook(visited.append)
    out.sum().backward()
    assert visited == [None]
    assert torch.equal(x.grad, torch.full((2,), 2.0))
    assert weight.grad is None  # an optimiser passes over it
    with torch.no_grad():
        assert without_influence(x, weight) is x
