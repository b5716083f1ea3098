"""R trainings as one program: any mix of seeds, folds, rates, decay and dropout, one architecture.

Every replica gives what it gives alone (`gmpool/engine/train.py`): the same first weights, shuffles
and dropout, its own clipping, schedule and early stopping. A replica that has stopped no longer
counts; when enough have stopped, the program goes on with the others alone. Several stacks, of
other shapes, can take turns: on a GPU their small programs then overlap.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import torch

from gmpool.config import ModelConfig
from gmpool.data import PackedGraphs
from gmpool.engine.stack.stack import Ended, Outcome, Run, Stack
from gmpool.engine.train import AnyModelConfig, Trained
from gmpool.errors import UserError
from gmpool.pool import METHODS

FEW_ROWS = 2**17
"""Nodes in a step of a stack below which its kernels leave most of a large GPU idle."""
OnEpoch = Callable[[int, int], None]


@dataclass(frozen=True)
class Stacking:
    """Runs that are one program."""

    graphs: PackedGraphs
    runs: Sequence[Run]
    metric: str
    on_epoch: OnEpoch | None = None
    """Is told the number of the epoch and how many replicas are still running."""


def cannot_stack(graphs: PackedGraphs, model: AnyModelConfig) -> str | None:
    """Why a method must be trained one run at a time on this set; None if it can be stacked."""
    fixed = model.method not in METHODS or METHODS[model.method].fixed_shapes
    if not fixed or model.pool.get("hops"):
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
    on_epoch: OnEpoch | None = None,
) -> list[Outcome]:
    """Train all runs to their stopping rules; the result of each, or why it failed, in order."""
    stacking = Stacking(graphs, runs, metric, on_epoch)
    ended = {n: result for _, n, result in train_together([stacking], device=device, at_once=1)}
    return [ended[number] for number in range(len(runs))]


def train_together(
    stackings: Iterable[Stacking], *, device: str = "cpu", at_once: int | None = None
) -> Iterator[tuple[int, int, Outcome]]:
    """Several stacks that take turns, an epoch each. Whenever runs have been put away: the number
    of the stack, the number of the run in it, and its result.

    at_once: how many take turns; when one has ended the next begins. None: all of them.

    On a GPU each has a stream of its own, whose epoch is read when it is done: small stacks go
    through many while a large one goes through one, and their kernels come first. On a CPU it is
    plain turns.
    """
    waiting = enumerate(stackings)
    moved: dict[int, tuple[PackedGraphs, PackedGraphs]] = {}  # who has an id must be kept
    turns: list[_Turns] = []
    while True:
        for number, stacking in islice(waiting, None if at_once is None else at_once - len(turns)):
            _check(stacking.graphs, stacking.runs)
            graphs = stacking.graphs
            _, there = moved.setdefault(id(graphs), (graphs, graphs.to(device)))
            turns.append(_Turns(number, stacking, there, _stream(stacking, device, at_once)))
        if not turns:
            return
        for turn in _ready(turns):
            ended = turn.take()
            if not turn.stack.alive:
                turns.remove(turn)
            for run, result in ended:
                yield turn.number, run, result


def _stream(stacking: Stacking, device: str, at_once: int | None) -> torch.cuda.Stream | None:
    """For a stack that others run beside."""
    if at_once == 1 or torch.device(device).type != "cuda":
        return None
    rows = len(stacking.runs) * stacking.runs[0].train.batch_size * stacking.graphs.mean_nodes
    stream = torch.cuda.Stream(device, priority=-1 if rows < FEW_ROWS else 0)
    stream.wait_stream(torch.cuda.current_stream(device))  # which holds the graphs
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
    """A stack, its stream, and how long its runs have taken."""

    def __init__(
        self,
        number: int,
        stacking: Stacking,
        graphs: PackedGraphs,
        stream: torch.cuda.Stream | None,
    ) -> None:
        self.number, self.stream, self.charged = number, stream, time.perf_counter()
        with torch.cuda.stream(stream):
            self.stack = Stack(graphs, stacking.runs, stacking.metric, stream)
        self.epochs = self.stack.run(stacking.on_epoch)
        self.done: torch.cuda.Event | None = None
        self.seconds = [0.0] * len(stacking.runs)
        self._charge(self.stack.running)

    @property
    def is_ready(self) -> bool:
        """Whether the device has done what it was last given."""
        return self.done is None or self.done.query()

    def take(self) -> list[Ended]:
        """One epoch; the runs that have been put away."""
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
        """The runs that are running have each taken their part of the time since the last turn,
        whoever else the device has worked for in it."""
        now = time.perf_counter()
        for number in running:
            self.seconds[number] += (now - self.charged) / len(running)
        self.charged = now


def _check(graphs: PackedGraphs, runs: Sequence[Run]) -> None:
    if not runs:
        raise UserError("a stack needs at least one run")
    why = cannot_stack(graphs, runs[0].model)
    if why:
        raise UserError(f"{why}, so that it cannot be stacked; train one run at a time")
    for run in runs:
        same = _architecture(run.model) == _architecture(runs[0].model)
        if not same or run.train.batch_size != runs[0].train.batch_size:
            raise UserError("the runs of a stack must have one architecture and one batch size")


def _architecture(model: AnyModelConfig) -> AnyModelConfig:
    """The model without what replicas may have of their own."""
    return replace(model, dropout=0.0) if isinstance(model, ModelConfig) else model
