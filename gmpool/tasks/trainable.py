"""What the engine asks of a model, so that one training loop serves every task.

A model gives the loss of each of its phases on a batch. For validation and test it turns batches
into rows, which are put together over all batches of a part, and judges them as a whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from gmpool.errors import UserError
from gmpool.tasks.metrics import metrics_of

Batch = Any
"""What the dataset's sampler makes: of graphs a GraphBatch, or a FixedBatch in a stack."""
Rows = tuple[Tensor, ...]


@dataclass(frozen=True)
class Phase:
    """Whose weights a step moves, how often, and by which settings of Adam.

    parts: names of submodules or parameters, whose weights it moves; () are all.
    every: it is taken in every so-many-th step.
    lr, weight_decay, clip_norm: the fields of the training's configuration that hold them, so that
        runs of one stack may have their own.
    """

    name: str = "all"
    parts: tuple[str, ...] = ()
    every: int = 1
    lr: str = "lr"
    weight_decay: str = "weight_decay"
    clip_norm: str = "clip_norm"
    betas: tuple[float, float] = (0.9, 0.999)

    def moves(self, parameter: str) -> bool:
        """Whether a parameter of this name is among those it moves."""
        return not self.parts or any(f"{parameter}.".startswith(f"{p}.") for p in self.parts)

    def taken(self, step: int) -> bool:
        """Whether it is taken in a step, counted from 0."""
        return (step + 1) % self.every == 0


class Trainable(nn.Module):
    """A model that can be trained alone and stacked."""

    phases: Sequence[Phase] = (Phase(),)
    """Taken one after the other in each step, on one batch."""
    shape: Any
    """What it had to know of its data; with `config` it is built again from a file."""
    config: Any
    begins_by_split: bool = False
    """Whether `begin` takes something from the training part."""

    def begin(self, dataset: Any, ids: Tensor) -> None:
        """Take from the training part what is not learned by steps, before the first one."""

    def check_phases(self) -> None:
        """Raises unless one phase moves each weight, and the first, whose loss is the training's,
        is taken in every step: a stack keeps the weights phase by phase."""
        for name, _ in self.named_parameters():
            if sum(phase.moves(name) for phase in self.phases) != 1 or self.phases[0].every != 1:
                raise UserError(f"{name}: one phase must move it, and the first be in every step")

    def loss(self, batch: Batch, phase: Phase) -> Tensor:
        """What a phase makes smaller, a mean over the examples of the batch. []"""
        raise NotImplementedError

    def evaluate(self, batch: Batch) -> Rows:
        """Rows of outputs, and whatever else `judge` reads; each [n, ...]."""
        raise NotImplementedError

    def judge(self, *rows: Tensor) -> tuple[Tensor, Tensor]:
        """(loss, score) of the rows of a whole part; NaN where it is not defined. Both []"""
        raise NotImplementedError

    def sample(self, numbers: Tensor) -> Rows:
        """What it makes of nothing: a row for each number, of which it depends. [n] -> [n, ...]"""
        raise NotImplementedError

    @property
    def num_parameters(self) -> int:
        return sum(p.numel() for p in self.parameters())


class Supervised(Trainable):
    """A model with outputs and labels, one row each per graph or per node.

    Rows that do not count have labels that are missing: NaN, or a negative number where labels are
    classes.
    """

    metric: str
    """Of `gmpool.tasks.metrics`."""

    def forward(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """(outputs of the rows that have labels [n, ...], auxiliary losses by name, which are means
        over the graphs of the batch)"""
        raise NotImplementedError

    def labels(self, batch: Batch) -> Tensor:
        """What the outputs should be. [n, ...]"""
        raise NotImplementedError

    def distance(self, out: Tensor, y: Tensor) -> Tensor:
        """Mean over the rows whose labels are there. []"""
        raise NotImplementedError

    def in_label_units(self, out: Tensor) -> Tensor:
        """Outputs as the labels were given, for the metric."""
        return out

    def loss(self, batch: Batch, phase: Phase) -> Tensor:
        out, auxiliary = self(batch)
        return self.distance_in(batch, out) + sum(auxiliary.values())

    def distance_in(self, batch: Batch, out: Tensor) -> Tensor:
        """Of the outputs of a batch. []"""
        return self.distance(out, self.labels(batch))

    def evaluate(self, batch: Batch) -> Rows:
        return self(batch)[0], self.labels(batch)

    def judge(self, *rows: Tensor) -> tuple[Tensor, Tensor]:
        out, y = rows
        score = metrics_of(self.metric, self.in_label_units(out)[None], y[None])[0]
        return self.distance(out, y), score
