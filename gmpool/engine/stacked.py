"""R trainings as one program: any mix of seeds, folds, rates, decay and dropout, one architecture.

Every replica gives what it gives alone (`gmpool/engine/train.py`): the same first weights, shuffles
and dropout, its own clipping, schedule and early stopping. A replica that has stopped no longer
counts; when enough have stopped, the program goes on with the others alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from gmpool.config import ModelConfig, TrainConfig
from gmpool.data import GraphBatch, PackedGraphs, Split
from gmpool.data.fixed import Bounds, FixedBatches
from gmpool.engine.adam import Adam
from gmpool.engine.program import Best, Feed, Program
from gmpool.engine.replicas import Replicas
from gmpool.engine.shuffles import Shuffles, in_batches
from gmpool.engine.train import Epoch, Trained, first_model, loss_error
from gmpool.errors import UserError
from gmpool.pool import METHODS
from gmpool.tasks.classify import GraphModel
from gmpool.tasks.metrics import metrics_of
from gmpool.tasks.shape import DataShape

EPOCHS_AHEAD = 20
"""So many epochs are drawn at once."""
SLACK = 1.03
"""Room in the bounds for batches that are not drawn yet."""


@dataclass(frozen=True)
class Run:
    """One training of a stack."""

    split: Split
    model: ModelConfig
    train: TrainConfig
    seed: int


@dataclass
class _Progress:
    """How far one replica is, as the host knows it."""

    curve: list[Epoch] = field(default_factory=list)
    best: Epoch | None = None
    weights: Tensor | None = None
    failure: UserError | None = None


def cannot_stack(graphs: PackedGraphs, model: ModelConfig) -> str | None:
    """Why a method must be trained one run at a time on this set; None if it can be stacked."""
    if not METHODS[model.method].fixed_shapes or model.pool.get("hops"):
        return f"the shapes of {model.method} depend on the data"
    if not graphs.symmetric or graphs.edge_weight is not None:
        return f"{graphs.name} has directed or weighted edges"
    return None


def train_stacked(
    graphs: PackedGraphs,
    runs: Sequence[Run],
    *,
    metric: str,
    device: str = "cpu",
    on_epoch: Callable[[int, int], None] | None = None,
) -> list[Trained | UserError]:
    """Train all runs to their stopping rules; the result of each, or why it failed, in order.

    on_epoch is told the number of the epoch and how many replicas are still running.
    """
    _check(graphs, runs)
    start = time.perf_counter()
    stack = _Stack(graphs.to(device), runs, metric)
    stack.run(on_epoch)
    results = stack.finish()
    seconds = time.perf_counter() - start
    # Each is charged by how long it ran.
    epochs = sum(len(r.curve) for r in results if isinstance(r, Trained))
    for result in results:
        if isinstance(result, Trained):
            result.seconds = seconds * len(result.curve) / epochs
            result.replicas = len(runs)
    return results


def _check(graphs: PackedGraphs, runs: Sequence[Run]) -> None:
    if not runs:
        raise UserError("a stack needs at least one run")
    why = cannot_stack(graphs, runs[0].model)
    if why:
        raise UserError(f"{why}, so that it cannot be stacked; train one run at a time")
    for run in runs:
        same = replace(run.model, dropout=0.0) == replace(runs[0].model, dropout=0.0)
        if not same or run.train.batch_size != runs[0].train.batch_size:
            raise UserError("the runs of a stack must have one architecture and one batch size")


class _Stack:
    """A stack on its way: the program on the device, and what the host knows of each replica."""

    def __init__(self, graphs: PackedGraphs, runs: Sequence[Run], metric: str) -> None:
        self.graphs, self.runs, self.metric = graphs, runs, metric
        shape = DataShape.of(graphs)
        self.models = [first_model(graphs, r.split, r.model, r.seed, shape) for r in runs]
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
        )
        program.start(torch.ones(len(self.alive), dtype=torch.bool))
        self.seconds_to_make = time.perf_counter() - begun
        return program

    def run(self, on_epoch: Callable[[int, int], None] | None) -> None:
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
        out = torch.cat(
            [
                replicas.predict(self.batches.make(part.to(device), bounds))
                for part in ids.unbind(1)
            ],
            dim=1,
        )
        y = self.batches.y[ids.flatten(1).to(device)]
        losses = replicas.losses(out, y).tolist()
        metrics = metrics_of(self.metric, replicas.in_label_units(out), y).tolist()
        each = zip(self.models, self.progress, metrics, losses, strict=True)
        return [self._result(*one) for one in each]

    @staticmethod
    def _result(
        model: GraphModel, progress: _Progress, metric: float, loss: float
    ) -> Trained | UserError:
        if progress.failure:
            return progress.failure
        assert progress.best is not None
        return Trained(model, progress.best, metric, loss, 0.0, progress.curve)


def _known(weights: Tensor | None) -> Tensor:
    assert weights is not None
    return weights


def reads_plain_edges(model: GraphModel, graphs: PackedGraphs) -> bool:
    """Whether the network asks for the adjacency as it is, seen by letting it read one batch."""
    batch = GraphBatch(graphs, [0])
    with torch.no_grad():
        deepcopy(model).to(graphs.device).eval()(batch)
    return "graph" in vars(batch)
