"""A task from outside the package: points on a circle, imitated by a generator with a critic.

Its examples are no graphs: it brings its own sampler. Two phases with weights, rates and a cadence
of their own; the critic's loss has a gradient penalty, so that it is differentiated twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from gmpool.config import TrainConfig, assemble
from gmpool.data import Card, Split
from gmpool.nn.clock import Clocked, uniform
from gmpool.nn.input_gradient import input_gradient
from gmpool.record import Row
from gmpool.report.grid import Column, Grid, Square
from gmpool.report.metrics import METRICS, Metric
from gmpool.tasks.task import TASKS, Asked, Flag, Task
from gmpool.tasks.trainable import Phase, Trainable

METRICS.register("distance")(Metric("", higher=False))


@dataclass(frozen=True)
class ToyConfig:
    method: str = "wide"
    hidden_dim: int = 5
    penalty: float = 10.0
    pool: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ToyTrainConfig(TrainConfig):
    batch_size: int = 8
    epochs: int = 3
    lr: float = 1e-2
    critic_lr: float = 2e-2
    warmup_epochs: int = 0


@dataclass(frozen=True)
class PointBatch:
    """points [n, 2]; real [n]: 1 for a point that is there."""

    points: Tensor
    real: Tensor

    def tensors(self) -> dict[str, Tensor]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def with_(self, tensors: dict[str, Tensor]) -> PointBatch:
        return PointBatch(**tensors)


@dataclass(frozen=True)
class Points:
    """A dataset, and batches of fixed shape of it."""

    name: str
    points: Tensor  # [N, 2]

    @property
    def digest(self) -> str:
        return f"points-{self.name}-{len(self)}"

    @property
    def empty(self) -> int:
        return len(self)

    def __len__(self) -> int:
        return self.points.shape[0]

    def to(self, device: str) -> Points:
        return replace(self, points=self.points.to(device))

    def batches(self, ids: Tensor, batch_size: int, generator: Any = None) -> Iterator[PointBatch]:
        if generator is not None:
            ids = ids[torch.randperm(len(ids), generator=generator)]
        for part in ids.split(batch_size):
            points = self.points[part.to(self.points.device)]
            yield PointBatch(points, torch.ones_like(points[:, 0]))

    def bounds(self, ids: Tensor) -> tuple[int, ...]:
        return ()

    def make(self, ids: Tensor, bounds: Any) -> PointBatch:
        padded = torch.cat([self.points, self.points.new_zeros(1, 2)])
        return PointBatch(padded[ids], (ids != self.empty).to(self.points.dtype))


class Noise(Clocked):
    def forward(self, like: Tensor) -> Tensor:
        place = torch.arange(like.numel(), device=like.device).view(like.shape)
        return uniform(self.tick() if self.training else self.seed, place).to(like.dtype)


def mlp(hidden: int, out: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, out))


class ToyGAN(Trainable):
    phases: ClassVar[Sequence[Phase]] = (
        Phase("critic", ("critic",), lr="critic_lr", betas=(0.5, 0.9)),
        Phase("generator", ("generator",), every=3),
    )

    def __init__(self, config: ToyConfig) -> None:
        super().__init__()
        self.config, self.noise = config, Noise()
        self.generator, self.critic = mlp(config.hidden_dim, 2), mlp(config.hidden_dim, 1)

    def loss(self, batch: PointBatch, phase: Phase) -> Tensor:
        real = batch.real[:, None]
        made = self.generator(self.noise(batch.points))
        if phase.name == "generator":
            return -_mean(self.critic(made), real)
        made = made.detach()
        share = self.noise(batch.points)[:, :1]
        _, slope = input_gradient(self.critic, share * batch.points + (1 - share) * made)
        steep = (slope.square().sum(1, keepdim=True) + 1e-12).sqrt() - 1
        gap = _mean(self.critic(made), real) - _mean(self.critic(batch.points), real)
        return gap + self.config.penalty * _mean(steep.square(), real)

    def evaluate(self, batch: PointBatch) -> tuple[Tensor, ...]:
        return self.generator(self.noise(batch.points)), batch.points, batch.real

    def judge(self, *rows: Tensor) -> tuple[Tensor, Tensor]:
        made, points, real = rows
        weight = real[:, None] / real.sum()
        gap = ((weight * made).sum(0) - (weight * points).sum(0)).norm()
        return gap, gap


def _mean(values: Tensor, real: Tensor) -> Tensor:
    return (values * real).sum() / real.sum().clamp(min=1)


class Toy(Task):
    """Points on a circle, imitated."""

    name = family = "toy"
    verb: ClassVar[str | None] = "imitate"
    help = "Imitate points on a circle."
    flags = (Flag("points", int, "How many points."),)
    model_config = ToyConfig
    train_config = ToyTrainConfig

    def open(self, source: str, root: Path | None = None, **options: Any) -> Points:
        angle = torch.arange(options.get("points") or 40, dtype=torch.float64)
        return Points(source, torch.stack([angle.cos(), angle.sin()], 1))

    def own(self, text: str, folder: Path) -> Points:
        return self.open(text)

    def splits(self, dataset: Points) -> Sequence[Split]:
        parts = torch.arange(len(dataset)).tensor_split([len(dataset) - 11, len(dataset) - 5])
        return [Split(*parts), Split(parts[0][:-3], *parts[1:])]

    def methods(self) -> Sequence[str]:
        return ["wide", "narrow"]

    def settings(
        self, card: Card, method: str, options: Mapping[str, Any]
    ) -> tuple[ToyConfig, TrainConfig]:
        width = {"hidden_dim": 3} if method == "narrow" else {}
        return assemble(ToyConfig(method=method), ToyTrainConfig(), {**width, **options}, {})

    def build(self, dataset: Points, model: ToyConfig) -> ToyGAN:
        return ToyGAN(model).double()

    def metric(self, dataset: Points, model: ToyConfig) -> str:
        return "distance"

    def finish(self, model: ToyGAN, dataset: Points, split: Split, device: str) -> dict[str, Any]:
        return {"norm": float(sum(p.detach().square().sum() for p in model.parameters()))}

    def cannot_stack(self, dataset: Points, model: ToyConfig) -> str | None:
        return None

    def fixed_batches(self, dataset: Points, model: Trainable) -> Points:
        return dataset

    def grids(self, asked: Asked) -> list[Grid]:
        return [self._grid(asked.title, asked.rows)]

    def summary(self, rows: Sequence[Row]) -> list[Grid]:
        return [self._grid("Imitations", rows)]

    @staticmethod
    def _grid(title: str, rows: Sequence[Row]) -> Grid:
        squares = [[Square(r.method), Square(str(r.seed)), Square(f"{r.test:.6f}")] for r in rows]
        heads = ("method", "seed", "distance")
        columns = [
            Column(h, list(s)) for h, s in zip(heads, zip(*squares, strict=True), strict=True)
        ]
        return Grid(title, columns, notes=["how far the middles are apart"])


TOY = TASKS.register(Toy.name)(Toy())
