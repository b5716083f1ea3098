"""The orders in which R replicas see their graphs: each as it would see them alone."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from gmpool.engine.training import drawn


class Shuffles:
    """Draws epochs for all replicas; a replica's draws depend on its own seed alone."""

    def __init__(
        self,
        ids: Sequence[Tensor],
        seeds: Sequence[int],
        batch_size: int,
        epoch_steps: int | None = None,
    ) -> None:
        """ids: the graphs each replica trains on. epoch_steps: as `TrainConfig` has it"""
        self.ids = [torch.as_tensor(part, dtype=torch.int64) for part in ids]
        self.generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        self.batch_size, self.epoch_steps = batch_size, epoch_steps

    @property
    def steps(self) -> Tensor:
        """How many batches an epoch of each replica has. [R]"""
        if self.epoch_steps is not None:
            return torch.full((len(self.ids),), self.epoch_steps)
        return torch.tensor([math.ceil(len(part) / self.batch_size) for part in self.ids])

    def draw(self, epochs: int, empty: int) -> tuple[Tensor, Tensor]:
        """The next epochs, `empty` where there is no graph: all batches but the last of each epoch
        [R, epochs · (steps - 1), B], and the last ones, which are smaller, [R, epochs, B']; of
        epochs with so many steps all are alike, and there are no last ones, [R, 0, B]."""
        if self.epoch_steps is not None:
            count = self.epoch_steps * self.batch_size
            each = [
                torch.cat([drawn(part, count, generator) for _ in range(epochs)])
                for part, generator in zip(self.ids, self.generators, strict=True)
            ]
            alike = torch.stack(each).unflatten(1, (-1, self.batch_size))
            return alike, alike[:, :0]
        full = (int(self.steps.max()) - 1) * self.batch_size
        width = max(len(part) for part in self.ids)
        orders = torch.full((len(self.ids), epochs, width), empty)
        for row, part, generator in zip(orders, self.ids, self.generators, strict=True):
            for epoch in row:
                order = torch.randperm(part.numel(), generator=generator)
                epoch[: part.numel()] = part.index_select(0, order)
        first, last = orders[:, :, :full], orders[:, :, full:]
        return first.reshape(len(self.ids), -1, self.batch_size), last.contiguous()

    def keep(self, rows: list[int]) -> None:
        self.ids = [self.ids[r] for r in rows]
        self.generators = [self.generators[r] for r in rows]


def in_batches(ids: Sequence[Tensor], batch_size: int, empty: int) -> Tensor:
    """A fixed part of a set for each replica, in order, in batches of equal size, which is at most
    batch_size. [R, steps, B]"""
    most = max(len(part) for part in ids)
    steps = math.ceil(most / batch_size)
    width = math.ceil(most / steps)
    rows = torch.full((len(ids), steps * width), empty)
    for row, part in zip(rows, ids, strict=True):
        row[: len(part)] = part
    return rows.unflatten(1, (steps, width))
