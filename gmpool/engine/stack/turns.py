"""R trainings as one program: any mix of seeds, folds, rates, decay and dropout, one architecture.

Every replica gives what it gives alone (`gmpool/engine/train.py`): the same first weights, shuffles
and dropout, its own clipping, schedule and early stopping. A replica that has stopped no longer
counts; when enough have stopped, the program goes on with the others alone. Several stacks, of
other shapes, can take turns: on a GPU their small programs then overlap.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch

from gmpool.engine.stack.members import Member
from gmpool.engine.stack.stack import Ended, Outcome, Stack
from gmpool.engine.train import Trained, require_training_part
from gmpool.errors import UserError
from gmpool.tasks.task import Task

FEW_ROWS = 2**17
"""Rows in a step of a stack below which its kernels leave most of a large GPU idle."""
OnEpoch = Callable[[int, int], None]


@dataclass(frozen=True)
class Stacking:
    """Trainings that are one program."""

    task: Task
    dataset: Any
    members: Sequence[Member]
    on_epoch: OnEpoch | None = None
    """Is told the number of the epoch and how many replicas are still running."""


def train_stacked(
    task: Task,
    dataset: Any,
    members: Sequence[Member],
    *,
    device: str = "cpu",
    on_epoch: OnEpoch | None = None,
) -> list[Outcome]:
    """Train all members to their stopping rules; the result of each, or why it failed, in order."""
    stacking = Stacking(task, dataset, members, on_epoch)
    ended = {n: result for _, n, result in train_together([stacking], device=device, at_once=1)}
    return [ended[number] for number in range(len(members))]


def train_together(
    stackings: Iterable[Stacking], *, device: str = "cpu", at_once: int | None = None
) -> Iterator[tuple[int, int, Outcome]]:
    """Several stacks that take turns, an epoch each. Whenever members have been put away: the
    number of the stack, the number of the member in it, and its result.

    at_once: how many take turns; when one has ended the next begins. None: all of them.

    On a GPU each has a stream of its own, whose epoch is read when it is done: small stacks go
    through many while a large one goes through one, and their kernels come first. On a CPU it is
    plain turns.
    """
    waiting = enumerate(stackings)
    moved: dict[int, tuple[Any, Any]] = {}  # who has an id must be kept
    turns: list[_Turns] = []
    while True:
        for number, stacking in islice(waiting, None if at_once is None else at_once - len(turns)):
            _check(stacking)
            dataset = stacking.task.data_for(stacking.dataset, stacking.members[0].model)
            _, there = moved.setdefault(id(dataset), (dataset, dataset.to(device)))
            turns.append(
                _Turns(number, stacking, there, device, _stream(stacking, device, at_once))
            )
        if not turns:
            return
        for turn in _ready(turns):
            ended = turn.take()
            if not turn.stack.alive:
                turns.remove(turn)
            for member, result in ended:
                yield turn.number, member, result


def _stream(stacking: Stacking, device: str, at_once: int | None) -> torch.cuda.Stream | None:
    """For a stack that others run beside."""
    if at_once == 1 or torch.device(device).type != "cuda":
        return None
    examples = len(stacking.members) * stacking.members[0].train.batch_size
    few = examples * stacking.task.size(stacking.dataset) < FEW_ROWS
    stream = torch.cuda.Stream(device, priority=-1 if few else 0)
    stream.wait_stream(torch.cuda.current_stream(device))  # which holds the data
    return stream


def _ready(turns: list[_Turns]) -> list[_Turns]:
    """Those whose epoch is done, when there are any."""
    while len(turns) > 1:
        ready = [turn for turn in turns if turn.is_ready]
        if ready:
            return ready
        time.sleep(1e-4)
    return list(turns)


class _Turns:
    """A stack, its stream, and how long its members have taken."""

    def __init__(
        self,
        number: int,
        stacking: Stacking,
        dataset: Any,
        device: str,
        stream: torch.cuda.Stream | None,
    ) -> None:
        self.number, self.stream, self.charged = number, stream, time.perf_counter()
        with torch.cuda.stream(stream):
            self.stack = Stack(
                stacking.task, dataset, stacking.members, torch.device(device), stream
            )
        self.epochs = self.stack.run(stacking.on_epoch)
        self.done: torch.cuda.Event | None = None
        self.seconds = [0.0] * len(stacking.members)
        self._charge(self.stack.running)

    @property
    def is_ready(self) -> bool:
        """Whether the device has done what it was last given."""
        return self.done is None or self.done.query()

    def take(self) -> list[Ended]:
        """One epoch; the members that have been put away."""
        running = self.stack.running
        with torch.cuda.stream(self.stream):
            ended = next(self.epochs)
            if self.stream is not None:
                self.done = self.stream.record_event()
        self._charge(running)
        for number, result in ended:
            if isinstance(result, Trained):
                result.seconds, result.replicas = self.seconds[number], len(self.seconds)
        return ended

    def _charge(self, running: list[int]) -> None:
        """The members that are running have each taken their part of the time since the last turn,
        whoever else the device has worked for in it."""
        now = time.perf_counter()
        for number in running:
            self.seconds[number] += (now - self.charged) / len(running)
        self.charged = now


def _check(stacking: Stacking) -> None:
    task, members = stacking.task, stacking.members
    if not members:
        raise UserError("a stack needs at least one run")
    if why := task.cannot_stack(stacking.dataset, members[0].model):
        raise UserError(f"{why}, so that it cannot be stacked; train one run at a time")
    first = members[0]
    for member in members:
        require_training_part(member.split, stacking.dataset)
        same = task.architecture(member.model) == task.architecture(first.model)
        same &= all(getattr(member.train, k) == getattr(first.train, k) for k in task.alike)
        if not same:
            raise UserError(
                f"the runs of a stack must have one architecture and one {', '.join(task.alike)}"
            )
        if bool(len(member.split.valid)) != bool(len(first.split.valid)):
            raise UserError("the runs of a stack must all have a validation part, or none")
