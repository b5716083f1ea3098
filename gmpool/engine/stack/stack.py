"""A stack of trainings on its way: the program on the device, and what the host knows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field

import torch
from torch import Tensor

from gmpool.config import TrainConfig
from gmpool.data import PackedGraphs, Split
from gmpool.data.fixed_batch import Bounds, FixedBatches
from gmpool.engine.stack.adam import Adam
from gmpool.engine.stack.program import Best, Feed, Program, evaluated
from gmpool.engine.stack.replicas import Replicas
from gmpool.engine.stack.shuffles import Shuffles, in_batches
from gmpool.engine.train import AnyModelConfig, Epoch, Trained, first_model, loss_error, shape_for
from gmpool.errors import UserError
from gmpool.graph import reads
from gmpool.tasks.shape import DataShape
from gmpool.tasks.trainable import Trainable

EPOCHS_AHEAD = 20
"""So many epochs are drawn at once."""
SLACK = 1.03
"""Room in the bounds for batches that are not drawn yet."""
NODES_LIKE_MAKING = {"cpu": 0, "cuda": 1_000_000}
"""An epoch of so many nodes takes about as long as making a program. Nothing is timed, so that the
same runs always shrink at the same epochs: products of other shapes are rounded otherwise."""


@dataclass(frozen=True)
class Run:
    """One training of a stack."""

    split: Split
    model: AnyModelConfig
    train: TrainConfig
    seed: int


Outcome = Trained | UserError
Ended = tuple[int, Outcome]
"""The number of a run in its stack, and its result."""


@dataclass
class _Progress:
    """How far one replica is, as the host knows it."""

    curve: list[Epoch] = field(default_factory=list)
    best: Epoch | None = None
    failure: UserError | None = None


class Stack:
    """A stack on its way: the program on the device, and what the host knows of each replica."""

    def __init__(
        self,
        graphs: PackedGraphs,
        runs: Sequence[Run],
        metric: str,
        stream: torch.cuda.Stream | None = None,
    ) -> None:
        """stream: where its programs are captured; who has several stacks lets each work on its
        own, from here to the end."""
        self.graphs, self.runs, self.metric, self.stream = graphs, runs, metric, stream
        shape = shape_for(graphs, runs[0].model)
        self.models, self.begins_as = first_models(graphs, runs, shape)
        self.batches = batches_for(self.models[0], graphs)
        self.batch_size, empty = runs[0].train.batch_size, self.batches.empty
        seeds = [run.seed for run in runs]
        self.shuffles = Shuffles([run.split.train for run in runs], seeds, self.batch_size)
        self.valid = in_batches([r.split.valid for r in runs], self.batch_size, empty)
        self.steps = int(self.shuffles.steps.max())
        self.alive = list(range(len(runs)))  # the runs that the program's rows are
        self.progress = [_Progress() for _ in runs]
        self.idle = 0  # epochs that stopped replicas took part in since it last shrank
        self.bounds = [Bounds(0, 0, 0)] * 2
        self.valid_bounds = self.batches.bounds(self.valid)
        self.program = self._first_program()

    def _draw(self) -> list[Tensor]:
        """The next epochs, full and last batches; bounds grow where they must."""
        drawn = self.shuffles.draw(EPOCHS_AHEAD, self.batches.empty)
        drawn_of_a_kind = [ids for ids in drawn if ids.shape[1]]
        for kind, ids in enumerate(drawn_of_a_kind):
            needed = self.batches.bounds(ids)
            if not self.bounds[kind].holds(needed):
                self.bounds[kind] = Bounds(*(math.ceil(n * SLACK) for n in needed))
        return drawn_of_a_kind

    def _first_program(self) -> Program:
        drawn, device = self._draw(), self.graphs.device
        replicas = Replicas(self.models, device, self.begins_as)
        adam = Adam.start(replicas.weights, [r.train for r in self.runs], self.shuffles.steps)
        by_loss = torch.tensor([r.train.select_by == "loss" for r in self.runs], device=device)
        best = Best.none_yet(by_loss, replicas.weights)
        return self._program(replicas, adam, best, drawn, rehearse=True)

    def _program(
        self, replicas: Replicas, adam: Adam, best: Best, drawn: list[Tensor], *, rehearse: bool
    ) -> Program:
        device = self.graphs.device
        program = Program(
            replicas,
            adam,
            self.batches,
            feeds=[Feed(ids, self.bounds[kind], device) for kind, ids in enumerate(drawn)],
            valid=self.valid,
            valid_bounds=self.valid_bounds,
            metric=self.metric,
            best=best,
            stream=self.stream,
            rehearse=rehearse,
        )
        program.start(torch.ones(len(self.alive), dtype=torch.bool))
        return program

    def train_epoch(self) -> None:
        """All steps of an epoch, which a device may still be working on afterwards."""
        *full, last = self.program.steps
        for step in full * (self.steps - 1):
            step()
        last()

    def run(self, on_epoch: Callable[[int, int], None] | None) -> Iterator[list[Ended]]:
        """Epoch after epoch: each is launched, and what it showed is read when asked to go on. In
        between a device may work for other stacks too. Yields the runs that have been put away
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
        for row, run_number in enumerate(self.alive):
            run, progress = self.runs[run_number], self.progress[run_number]
            was_running = self._running(run, progress)
            if was_running:
                loss_sum, valid_loss, valid_metric, better = (part[row] for part in results)
                epoch = Epoch(number, loss_sum / len(run.split.train), valid_loss, valid_metric)
                progress.curve.append(epoch)
                progress.failure = loss_error(epoch, self.graphs.name, run.train)
                if better:
                    progress.best = epoch
            goes_on.append(was_running and self._running(run, progress))
        return goes_on

    @staticmethod
    def _running(run: Run, progress: _Progress) -> bool:
        done, best, patience = len(progress.curve), progress.best, run.train.patience
        if progress.failure or done >= run.train.epochs:
            return False
        return best is None or patience is None or done - best.epoch < patience

    @property
    def running(self) -> list[int]:
        """The numbers of the runs that have not come to their end."""
        return [n for n in self.alive if self._running(self.runs[n], self.progress[n])]

    def _next_epochs(self, running: list[bool]) -> list[Ended]:
        """Draw on. The program is made anew when it must be larger, or when the stopped replicas
        have cost as much as that: about twice of what it would, were it known when each stops."""
        bounds = list(self.bounds)
        device = self.graphs.device.type
        if self.idle * self.graphs.num_nodes > NODES_LIKE_MAKING[device]:
            return self._go_on_with([row for row, on in enumerate(running) if on])
        drawn = self._draw()
        if self.bounds == bounds:
            for feed, ids in zip(self.program.feeds, drawn, strict=True):
                feed.follow(ids)
            return []
        old = self.program
        self.program = self._program(old.replicas, old.adam, old.best, drawn, rehearse=False)
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
        at = torch.tensor(rows, device=self.graphs.device)
        self.shuffles.keep(rows)
        self.steps, self.bounds = int(self.shuffles.steps.max()), [Bounds(0, 0, 0)] * 2
        self.valid = self.valid[rows]
        old.replicas.keep(at)
        drawn = self._draw()
        kept = old.adam.keep(at), old.best.keep(at)
        self.program = self._program(old.replicas, *kept, drawn, rehearse=False)
        return ended

    def _tested(self, rows: list[int]) -> list[Ended]:
        """The replicas of these rows, tested at their best weights."""
        device, numbers = self.graphs.device, [self.alive[row] for row in rows]
        replicas = copy(self.program.replicas)
        replicas.weights = self.program.best.weights
        replicas.keep(torch.tensor(rows, device=device))
        begun_as = [self.models[self.begins_as[number]] for number in numbers]
        models = map(replicas.filled, begun_as, replicas.weights.cpu())
        parts = [self.runs[number].split.test for number in numbers]
        ids = in_batches(parts, self.batch_size, self.batches.empty)
        bounds = self.batches.bounds(ids)
        losses, metrics = evaluated(replicas, self.batches, ids.to(device), bounds, self.metric)
        each = zip(numbers, models, metrics.tolist(), losses.tolist(), strict=True)
        return [(n, self._result(self.progress[n], *found)) for n, *found in each]

    @staticmethod
    def _result(progress: _Progress, model: Trainable, metric: float, loss: float) -> Outcome:
        if progress.failure:
            return progress.failure
        assert progress.best is not None
        return Trained(model, progress.best, metric, loss, 0.0, progress.curve)


def first_models(
    graphs: PackedGraphs, runs: Sequence[Run], shape: DataShape
) -> tuple[list[Trainable], list[int]]:
    """(models, the number of the one that each run begins as). Runs of one seed begin alike,
    whatever their fold. Not so for regression, whose model knows its training labels."""
    numbers: dict[tuple[int, str, int], int] = {}
    models, begins_as = list[Trainable](), []
    for at, run in enumerate(runs):
        which = run.seed, repr(run.model), at if shape.task == "regression" else 0
        if which not in numbers:
            numbers[which] = len(models)
            models.append(first_model(graphs, run.split, run.model, run.seed, shape))
        begins_as.append(numbers[which])
    return models, begins_as


def batches_for(model: Trainable, graphs: PackedGraphs) -> FixedBatches:
    """Batches with all that the network reads."""
    return reads.batches_for(graphs, reads.reads_of(model), next(model.parameters()).dtype)
