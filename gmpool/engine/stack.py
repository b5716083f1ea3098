"""A stack of trainings on its way: the program on the device, and what the host knows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

import torch
from torch import Tensor

from gmpool.config import TrainConfig
from gmpool.data import GraphBatch, PackedGraphs, Split
from gmpool.data.fixed import Bounds, FixedBatches
from gmpool.engine.adam import Adam
from gmpool.engine.program import Best, Feed, Program, evaluated
from gmpool.engine.replicas import Replicas
from gmpool.engine.shuffles import Shuffles, in_batches
from gmpool.engine.train import AnyModelConfig, Epoch, Trained, first_model, loss_error, shape_for
from gmpool.errors import UserError
from gmpool.tasks.shape import DataShape
from gmpool.tasks.trainable import Trainable

EPOCHS_AHEAD = 20
"""So many epochs are drawn at once."""
SLACK = 1.03
"""Room in the bounds for batches that are not drawn yet."""


@dataclass(frozen=True)
class Run:
    """One training of a stack."""

    split: Split
    model: AnyModelConfig
    train: TrainConfig
    seed: int


@dataclass
class _Progress:
    """How far one replica is, as the host knows it."""

    curve: list[Epoch] = field(default_factory=list)
    best: Epoch | None = None
    weights: Tensor | None = None
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
        self.models = first_models(graphs, runs, shape)
        self.batches = FixedBatches(graphs, plain=reads_plain_edges(self.models[0], graphs))
        self.batch_size, empty = runs[0].train.batch_size, self.batches.empty
        seeds = [run.seed for run in runs]
        self.shuffles = Shuffles([run.split.train for run in runs], seeds, self.batch_size)
        self.valid = in_batches([r.split.valid for r in runs], self.batch_size, empty)
        self.steps = int(self.shuffles.steps.max())
        self.alive = list(range(len(runs)))  # the runs that the program's rows are
        self.progress = [_Progress() for _ in runs]
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
        replicas = self.replicas = Replicas(self.models, device)
        self.buffers = {name: buffer.clone() for name, buffer in replicas.buffers.items()}
        adam = Adam.start(replicas.weights, [r.train for r in self.runs], self.shuffles.steps)
        by_loss = torch.tensor([r.train.select_by == "loss" for r in self.runs], device=device)
        return self._program(replicas, adam, Best.none_yet(by_loss, replicas.weights), drawn)

    def _program(self, replicas: Replicas, adam: Adam, best: Best, drawn: list[Tensor]) -> Program:
        device, begun = self.graphs.device, time.perf_counter()
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
        )
        program.start(torch.ones(len(self.alive), dtype=torch.bool))
        self.seconds_to_make = time.perf_counter() - begun
        return program

    def run(self, on_epoch: Callable[[int, int], None] | None) -> Iterator[None]:
        """Epoch after epoch: each is launched, and what it showed is read when asked to go on. In
        between a device may work for other stacks too."""
        number = 0
        while self.alive:
            begun = time.perf_counter()
            for _ in range(EPOCHS_AHEAD):
                number += 1
                *full, last = self.program.steps
                for step in full * (self.steps - 1):
                    step()
                last()
                self.program.evaluate()
                yield
                running = self._note(number, self.program.results.tolist())
                if on_epoch:
                    on_epoch(number, int(sum(running)))
                if not any(running):
                    self._go_on_with([])
                    return
                self.program.running.copy_(torch.tensor(running))
            self._next_epochs(running, time.perf_counter() - begun)

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

    def _next_epochs(self, running: list[bool], seconds: float) -> None:
        """Draw on. The program is made anew when it must be larger, or when what the stopped
        replicas cost in the last epochs, which took so many seconds, is more than making it."""
        left, bounds = sum(running), list(self.bounds)
        idle = 1 - left / len(running)
        if idle and idle * seconds > self.seconds_to_make:
            self._go_on_with([row for row, on in enumerate(running) if on])
            return
        drawn = self._draw()
        if self.bounds == bounds:
            for feed, ids in zip(self.program.feeds, drawn, strict=True):
                feed.follow(ids)
            return
        old = self.program
        self.program = self._program(old.replicas, old.adam, old.best, drawn)
        self.program.running.copy_(torch.tensor(running))

    def _go_on_with(self, rows: list[int]) -> None:
        """Put the best weights of the others away, and go on with these rows alone."""
        old = self.program
        for row, run_number in enumerate(self.alive):
            if row not in rows:
                self.progress[run_number].weights = old.best.weights[row].clone()
        self.alive = [self.alive[row] for row in rows]
        if not rows:
            return
        at = torch.tensor(rows, device=self.graphs.device)
        self.shuffles.keep(rows)
        self.steps, self.bounds = int(self.shuffles.steps.max()), [Bounds(0, 0, 0)] * 2
        self.valid = self.valid[rows]
        old.replicas.keep(at)
        drawn = self._draw()
        self.program = self._program(old.replicas, old.adam.keep(at), old.best.keep(at), drawn)

    def finish(self) -> list[Trained | UserError]:
        """Test every replica at its best weights."""
        del self.program
        replicas = self.replicas
        replicas.weights = torch.stack([_known(progress.weights) for progress in self.progress])
        replicas.buffers = self.buffers
        for model, row in zip(self.models, replicas.weights.cpu(), strict=True):
            replicas.fill(model, row)
        ids = in_batches([r.split.test for r in self.runs], self.batch_size, self.batches.empty)
        bounds, device = self.batches.bounds(ids), self.graphs.device
        losses, metrics = evaluated(replicas, self.batches, ids.to(device), bounds, self.metric)
        each = zip(self.models, self.progress, metrics.tolist(), losses.tolist(), strict=True)
        return [self._result(*one) for one in each]

    @staticmethod
    def _result(
        model: Trainable, progress: _Progress, metric: float, loss: float
    ) -> Trained | UserError:
        if progress.failure:
            return progress.failure
        assert progress.best is not None
        return Trained(model, progress.best, metric, loss, 0.0, progress.curve)


def first_models(graphs: PackedGraphs, runs: Sequence[Run], shape: DataShape) -> list[Trainable]:
    """The models that the runs begin with. Those of one seed begin alike, whatever their fold: they
    are drawn once and copied. Not so for regression, whose model knows its training labels."""
    drawn: dict[tuple[int, str], Trainable] = {}
    models = []
    for run in runs:
        which = run.seed, repr(run.model)
        model = None if shape.task == "regression" else deepcopy(drawn.get(which))
        if model is None:
            model = first_model(graphs, run.split, run.model, run.seed, shape)
            drawn[which] = model
        models.append(model)
    return models


def _known(weights: Tensor | None) -> Tensor:
    assert weights is not None
    return weights


def reads_plain_edges(model: Trainable, graphs: PackedGraphs) -> bool:
    """Whether the network asks for the adjacency as it is, seen by letting it read one batch."""
    batch = GraphBatch(graphs, [0])
    with torch.no_grad():
        deepcopy(model).to(graphs.device).eval()(batch)
    return "graph" in vars(batch)
