"""Who does the steps of a training: one process, or several that each have a part of every batch.

All of them hold the same weights at every moment, and see the same numbers of every epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from gmpool.tasks.protocols import Dataset
from gmpool.tasks.trainable import Phase, Rows, Trainable

State = Mapping[str, Tensor]
"""All that a training depends on between two epochs."""


class Hands:
    """One process, which has the whole of every batch."""

    count = 1
    """How many processes there are."""

    def take_up(self, model: Trainable) -> None:
        """Before the first step; raises where the model cannot be trained so."""

    def batches(
        self, dataset: Any, ids: Tensor, size: int, shuffle: torch.Generator | None = None
    ) -> Iterator[Any]:
        """Of an epoch of training: all examples once."""
        found: Iterator[Any] = dataset.batches(ids, size, shuffle)
        return found

    def gradients(
        self, model: Trainable, batch: Any, phase: Phase, weights: Sequence[Tensor]
    ) -> Tensor:
        """Those of the loss of a whole batch, at the weights of a phase; and the loss."""
        model.zero_grad(set_to_none=True)
        loss = model.loss(batch, phase)
        loss.backward(inputs=weights if phase.parts else None)
        return loss.detach()

    def own(self, dataset: Dataset, ids: Tensor) -> Tensor:
        """Which examples of a part this process evaluates."""
        return ids

    def gathered(self, rows: Rows, device: torch.device) -> Rows:
        """Rows of all examples of a part, of which each process has those of its own."""
        return rows

    def agreed(self, *numbers: float) -> tuple[float, ...]:
        """What all decide by."""
        return numbers

    def found(self) -> State | None:
        """What is there of the training that was begun before."""
        return None

    def keep(self, state: Callable[[], State]) -> None:
        """After an epoch: what the training could go on from."""


ALONE = Hands()
