"""A stack of trainings on its way: the program on the device, and what the host knows."""

import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from gmpool.engine.stack.adam import Adam
from gmpool.engine.stack.members import Member, first_models
from gmpool.engine.stack.program import Best, Feed, Program, evaluated
from gmpool.engine.stack.replicas import Replicas
from gmpool.engine.stack.shuffles import Shuffles, in_batches
from gmpool.engine.train import Trained
from gmpool.engine.training import Epoch, examples_of, loss_error
from gmpool.errors import UserError
from gmpool.report.metrics import METRICS
from gmpool.tasks.protocols import Watch
from gmpool.tasks.task import Task
from gmpool.tasks.trainable import Trainable

EPOCHS_AHEAD = 20
"""So many epochs are drawn at once."""
SLACK = 1.03
"""Room in the bounds for batches that are not drawn yet."""
ROWS_LIKE_MAKING = {"cpu": 0, "cuda": 1_000_000}
"""An epoch of so many rows takes about as long as making a program. Nothing is timed, so that the
same runs always shrink at the same epochs: products of other shapes are rounded otherwise."""


Outcome = Trained | UserError
Ended = tuple[int, Outcome]
"""The number of a member of the stack, and its result."""


@dataclass
class _Progress:
    """How far one replica is, as the host knows it."""

    curve: list[Epoch] = field(default_factory=list)
    best: Epoch | None = None
    failure: UserError | None = None
    watch: Watch | None = None


class Stack:
    """A stack on its way: the program on the device, and what the host knows of each replica."""

    def __init__(
        self,
        task: Task,
        dataset: Any,
        members: Sequence[Member],
        device: torch.device,
        stream: torch.cuda.Stream | None = None,
    ) -> None:
        """dataset: lies on the device. stream: where its programs are captured; who has several
        stacks lets each work on its own, from here to the end."""
        self.task, self.dataset, self.members = task, dataset, members
        self.device, self.stream = device, stream
        self.models, self.begins_as = first_models(task, dataset, members)
        self.phases = self.models[0].phases
        self.batches = task.fixed_batches(dataset, self.models[0])
        self.higher = METRICS[task.metric(dataset, members[0].model)].higher
        self.batch_size = members[0].train.batch_size
        seeds = [member.seed for member in members]
        trained_on = [member.split.train for member in members]
        epoch_steps = members[0].train.epoch_steps
        self.shuffles = Shuffles(trained_on, seeds, self.batch_size, epoch_steps)
        self.steps: set[int] = set(self.shuffles.steps.tolist())  # of an epoch of the replicas
        self.valid = self._batched([member.split.valid for member in members])
        self.valid_bounds = None if self.valid is None else self.batches.bounds(self.valid)
        self.alive = list(range(len(members)))  # the members that the program's rows are
        self.progress = [
            _Progress(watch=task.watch(dataset, m.split, m.model, m.train, device.type))
            for m in members
        ]
        self.idle = 0  # epochs that stopped replicas took part in since it last shrank
        self.epoch = 0  # epochs done
        self.bounds: dict[int, Any] = {}  # of each kind of batches
        self.kinds: list[int] = []  # of the steps that are drawn
        self.step = 0  # of these
        self.program = self._first_program()

    def _batched(self, parts: Sequence[Tensor]) -> Tensor | None:
        """A part of the data for each replica; None where it is empty. [R, S, B]"""
        if not any(map(len, parts)):
            return None
        return in_batches(parts, self.batch_size, self.batches.empty)

    def _draw(self) -> list[Tensor]:
        """The next epochs by kinds of batches: full and last ones, or small and large ones where
        all have as many examples. Bounds grow where they must."""
        drawn = self.shuffles.draw(EPOCHS_AHEAD, self.batches.empty)
        of_a_kind = [ids for ids in drawn if ids.shape[1]]
        steps = max(self.steps)
        each = [len(of_a_kind) - 1 if step == steps - 1 else 0 for step in range(steps)]
        self.kinds, self.step = each * EPOCHS_AHEAD, 0
        by_size = getattr(self.batches, "kinds", None)
        if by_size is not None and self.shuffles.epoch_steps is not None:
            kinds = by_size(of_a_kind[0])  # [T]
            of_a_kind = [of_a_kind[0][:, kinds == kind] for kind in range(int(kinds.max()) + 1)]
            self.kinds = kinds.tolist()
        for kind, ids in enumerate(of_a_kind):
            needed, has = self.batches.bounds(ids), self.bounds.get(kind)
            if has is None or any(n > h for n, h in zip(needed, has, strict=True)):
                self.bounds[kind] = type(needed)(*(math.ceil(n * SLACK) for n in needed))
        return of_a_kind

    def _first_program(self) -> Program:
        drawn, configs = self._draw(), [member.train for member in self.members]
        replicas = Replicas(self.models, self.device, self.begins_as)
        adams = [
            Adam.start(weights, configs, self.shuffles.steps, phase)
            for weights, phase in zip(replicas.weights, self.phases, strict=True)
        ]
        clock = torch.zeros(replicas.count, dtype=torch.int64, device=self.device)
        by_loss = torch.tensor([c.select_by == "loss" for c in configs], device=self.device)
        best = Best.none_yet(by_loss, replicas.learned)
        return self._program(replicas, adams, clock, best, drawn, rehearse=True)

    def _program(
        self,
        replicas: Replicas,
        adams: Sequence[Adam],
        clock: Tensor,
        best: Best,
        drawn: list[Tensor],
        *,
        rehearse: bool,
    ) -> Program:
        program = Program(
            replicas,
            adams,
            clock,
            self.batches,
            feeds=[Feed(ids, self.bounds[kind], self.device) for kind, ids in enumerate(drawn)],
            valid=self.valid,
            valid_bounds=self.valid_bounds,
            higher=self.higher,
            best=best,
            numbers=watch.numbers if (watch := self.progress[0].watch) else None,
            stream=self.stream,
            rehearse=rehearse,
        )
        program.start(torch.ones(len(self.alive), dtype=torch.bool))
        return program

    def train_epoch(self) -> None:
        """All steps of an epoch, which a device may still be working on afterwards."""
        steps = max(self.steps)
        for step in range(steps):
            self.program.step(self.kinds[self.step], self._taken(step))()
            self.step += 1
        self.epoch += 1

    def _taken(self, step: int) -> tuple[int, ...]:
        """The phases that any replica takes in a step of the epoch."""
        done = {self.epoch * steps + step for steps in self.steps if step < steps}
        phases = enumerate(self.phases)
        return tuple(at for at, phase in phases if any(map(phase.taken, done)))

    def run(self, on_epoch: Callable[[int, int], None] | None) -> Iterator[list[Ended]]:
        """Epoch after epoch: each is launched, and what it showed is read when asked to go on. In
        between a device may work for other stacks too. Yields the members that have been put away
        since the last time."""
        number, ended = 0, list[Ended]()
        while self.alive:
            for _ in range(EPOCHS_AHEAD):
                number += 1
                self.idle += len(self.alive) - len(self.running)
                self.train_epoch()
                self.program.evaluate()
                yield ended
                ended = []
                running = self._note(number, self.program.results.tolist())
                if on_epoch:
                    on_epoch(number, int(sum(running)))
                if not any(running):
                    yield self._go_on_with([])
                    return
                self.program.running.copy_(torch.tensor(running))
            ended = self._next_epochs(running)

    def _note(self, number: int, results: list[list[float]]) -> list[bool]:
        """Write down an epoch; which replicas go on."""
        goes_on = []
        samples = [made.cpu() for made in self.program.samples]
        for row, at in enumerate(self.alive):
            member, progress = self.members[at], self.progress[at]
            was_running = self._running(member, progress)
            if was_running:
                loss_sum, valid_loss, valid_metric, better = (part[row] for part in results)
                examples = examples_of(member.train, member.split)
                epoch = Epoch(number, loss_sum / examples, valid_loss, valid_metric)
                progress.curve.append(epoch)
                progress.failure = loss_error(
                    epoch, self.dataset.name, member.train, has_valid=self.valid is not None
                )
                if better:
                    progress.best = epoch
                if progress.watch and not progress.failure:
                    progress.watch.see(number, tuple(made[row] for made in samples))
            goes_on.append(was_running and self._running(member, progress))
        return goes_on

    @staticmethod
    def _running(member: Member, progress: _Progress) -> bool:
        done, best, patience = len(progress.curve), progress.best, member.train.patience
        if progress.failure or done >= member.train.epochs:
            return False
        return best is None or patience is None or done - best.epoch < patience

    @property
    def running(self) -> list[int]:
        """The numbers of the members that have not come to their end."""
        return [n for n in self.alive if self._running(self.members[n], self.progress[n])]

    def _next_epochs(self, running: list[bool]) -> list[Ended]:
        """Draw on. The program is made anew when it must be larger, or when the stopped replicas
        have cost as much as that: about twice of what it would, were it known when each stops."""
        bounds = dict(self.bounds)
        rows = len(self.dataset) * self.task.size(self.dataset)
        if self.idle * rows > ROWS_LIKE_MAKING[self.device.type]:
            return self._go_on_with([row for row, on in enumerate(running) if on])
        drawn = self._draw()
        old = self.program
        shapes = [ids.shape for ids in drawn]
        if self.bounds == bounds and shapes == [feed.ids.shape for feed in old.feeds]:
            for feed, ids in zip(old.feeds, drawn, strict=True):
                feed.follow(ids)
            return []
        kept = old.replicas, old.adams, old.clock, old.best
        self.program = self._program(*kept, drawn, rehearse=False)
        self.program.running.copy_(torch.tensor(running))
        return []

    def _go_on_with(self, rows: list[int]) -> list[Ended]:
        """Test the others and put them away, and go on with these rows alone."""
        old = self.program
        ended = self._tested([row for row in range(len(self.alive)) if row not in rows])
        self.alive, self.idle = [self.alive[row] for row in rows], 0
        if not rows:
            del self.program
            return ended
        at = torch.tensor(rows, device=self.device)
        self.shuffles.keep(rows)
        self.steps = set(self.shuffles.steps.tolist())
        self.bounds = {}
        self.valid = None if self.valid is None else self.valid[rows]
        old.replicas.keep(at)
        drawn = self._draw()
        adams, clock = [adam.keep(at) for adam in old.adams], old.clock.index_select(0, at)
        self.program = self._program(
            old.replicas, adams, clock, old.best.keep(at), drawn, rehearse=False
        )
        return ended

    def _tested(self, rows: list[int]) -> list[Ended]:
        """The replicas of these rows, tested at their best weights."""
        numbers = [self.alive[row] for row in rows]
        if not numbers:
            return []
        replicas = copy(self.program.replicas)
        replicas.take(self.program.best.weights)
        replicas.keep(torch.tensor(rows, device=self.device))
        on_host = zip(*(learned.cpu() for learned in replicas.learned), strict=True)
        begun_as = [self.models[self.begins_as[number]] for number in numbers]
        models = [replicas.filled(m, list(ws)) for m, ws in zip(begun_as, on_host, strict=True)]
        ids = self._batched([self.members[number].split.test for number in numbers])
        losses = metrics = torch.full((len(rows),), math.nan)
        seen: dict[str, list[Tensor]] = {}
        if ids is not None:
            bounds = self.batches.bounds(ids)
            seen["test"] = evaluated(replicas, self.batches, ids.to(self.device), bounds)
            losses, metrics = replicas.judge(seen["test"])
        if self.task.scores_outputs and self.valid is not None:
            ids = self.valid[rows].to(self.device)
            seen["valid"] = evaluated(replicas, self.batches, ids, self.valid_bounds)
        each = zip(numbers, models, metrics.tolist(), losses.tolist(), strict=True)
        results = [self._result(self.progress[n], *found) for n, *found in each]
        if self.task.scores_outputs:
            for part, tensors in seen.items():
                for result, *own in zip(results, *(t.cpu() for t in tensors), strict=True):
                    if isinstance(result, Trained):
                        result.outputs[part] = tuple(own)
        return list(zip(numbers, results, strict=True))

    @staticmethod
    def _result(progress: _Progress, model: Trainable, metric: float, loss: float) -> Outcome:
        if progress.failure:
            return progress.failure
        assert progress.best is not None
        watched: dict[str, Any] = {}
        if progress.watch:
            metric, watched = progress.watch.said()
        return Trained(model, progress.best, metric, loss, 0.0, progress.curve, watched=watched)
