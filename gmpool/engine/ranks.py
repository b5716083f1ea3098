"""One training by several processes: each has a part of every batch, of nearly as many nodes as the
others', and the gradient is that of the whole batch."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from gmpool.data.shared_batches import SharedBatch, own_part, shared_batches
from gmpool.engine.group import Group
from gmpool.engine.hands import Hands, State
from gmpool.errors import StoreError, UserError
from gmpool.nn.batch_norm import BatchNorm
from gmpool.nn.clock import set_places
from gmpool.tasks.protocols import Dataset
from gmpool.tasks.trainable import Phase, Rows, Supervised, Trainable

_options = inspect.signature(DistributedDataParallel).parameters
_name = "forward_sync_buffers" if "forward_sync_buffers" in _options else "broadcast_buffers"
WITHOUT_BUFFERS: dict[str, Any] = {_name: False}
"""All have the same ones, and they change alike. PyTorch 2.13 has another word for it."""


class Ranks(Hands):
    """A process of a group. state: from which the training goes on. write: keeps another one.

    Outputs of a batch are few numbers: they are put together, and each process has the loss of the
    whole batch, whatever it is normed by, of which its own outputs have their gradients.
    """

    def __init__(
        self,
        group: Group,
        state: State | None = None,
        write: Callable[[State], None] | None = None,
    ) -> None:
        self.group, self.count, self.state, self.write = group, group.count, state, write

    def take_up(self, model: Trainable) -> None:
        if why := cannot_be_shared(model):
            raise UserError(
                f"{why}, so that it cannot be trained by {self.count} processes: train it by one, "
                "without torchrun"
            )
        self.shared = DistributedDataParallel(model, **WITHOUT_BUFFERS)

    def batches(
        self, dataset: Any, ids: Tensor, size: int, shuffle: torch.Generator | None = None
    ) -> Iterator[SharedBatch]:
        rank, count = self.group.rank, self.count
        return shared_batches(dataset.graphs, ids, size, shuffle, part=rank, parts=count)

    def gradients(
        self, model: Trainable, batch: SharedBatch, phase: Phase, weights: Sequence[Tensor]
    ) -> Tensor:
        assert isinstance(model, Supervised)
        model.zero_grad(set_to_none=True)
        if batch.has_empty:  # fewer graphs than processes, say: all of them do the whole of it
            set_places(model, 0, 0)
            loss = model.loss(batch.whole, phase)
            loss.backward()
            return loss.detach()
        set_places(model, batch.graphs_before, batch.nodes_before)
        out, auxiliary = self.shared(batch.part)
        distance = model.distance_in(batch.whole, self._with_others(out))
        share = batch.part.num_graphs / batch.whole.num_graphs
        own = share * torch.stack([distance.new_zeros(()), *auxiliary.values()]).sum()
        ((distance + own) * self.count).backward()  # of which the mean over processes is taken
        return distance.detach() + self.group.sum(own.detach().clone())

    def _with_others(self, out: Tensor) -> Tensor:
        """The outputs of the whole batch, of which those of this process have gradients."""
        parts = self.group.joined(out.detach())
        parts[self.group.rank] = out
        return torch.cat(parts)

    def own(self, dataset: Dataset, ids: Tensor) -> Tensor:
        graphs = dataset.graphs  # type: ignore[attr-defined]
        return own_part(graphs, ids, part=self.group.rank, parts=self.count)

    def gathered(self, rows: Rows, device: torch.device) -> Rows:
        """Who has none of a part does not know how its rows look."""
        looks = self.group.each([(tuple(each.shape[1:]), each.dtype) for each in rows])
        shapes = next(filter(None, looks))
        own = rows or tuple(torch.empty(0, *shape, dtype=kind) for shape, kind in shapes)
        return tuple(torch.cat(self.group.joined(each.to(device))) for each in own)

    def agreed(self, *numbers: float) -> tuple[float, ...]:
        found: tuple[float, ...] = self.group.share(numbers)
        return found

    def found(self) -> State | None:
        return self.state

    def keep(self, state: Callable[[], State]) -> None:
        problem: StoreError | None = None
        if self.write:
            try:
                self.write(state())
            except StoreError as error:
                problem = error
        if problem := self.group.share(problem):  # or the others would go on without the first
            raise problem


def cannot_be_shared(model: nn.Module) -> str | None:
    """Why not, as the beginning of a sentence."""
    if not isinstance(model, Supervised):
        return f"{type(model).__name__} has a loss that is no mean over examples"
    for part in model.modules():
        if isinstance(part, BatchNorm | nn.modules.batchnorm._BatchNorm):
            return "the model has batch norms, which read whole batches"
        if isinstance(part, nn.Dropout) and part.p > 0:
            return "the method's dropout draws for whole batches"
    return None
