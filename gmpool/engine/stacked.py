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
from gmpool.engine.stack import Ended, Outcome, Run, Stack
from gmpool.engine.train import AnyModelConfig, Trained
from gmpool.errors import UserError
from gmpool.pool import METHODS

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

    On a GPU each has a stream of its own, and while the host reads one stack's results the device
    works for the others. On a CPU it is plain turns.
    """
    waiting = enumerate(stackings)
    moved: dict[int, tuple[PackedGraphs, PackedGraphs]] = {}  # who has an id must be kept
    turns: list[_Turns] = []
    while True:
        for number, stacking in islice(waiting, None if at_once is None else at_once - len(turns)):
            _check(stacking.graphs, stacking.runs)
            graphs = stacking.graphs
            _, there = moved.setdefault(id(graphs), (graphs, graphs.to(device)))
            turns.append(_Turns(number, stacking, there, _stream(device, at_once)))
        if not turns:
            return
        for turn in list(turns):
            ended = turn.take()
            if not turn.stack.alive:
                turns.remove(turn)
            for run, result in ended:
                yield turn.number, run, result


def _stream(device: str, at_once: int | None) -> torch.cuda.Stream | None:
    """For a stack that others run beside."""
    if at_once == 1 or torch.device(device).type != "cuda":
        return None
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))  # which holds the graphs
    return stream


class _Turns:
    """A stack, its stream, and the time that its turns took."""

    def __init__(
        self,
        number: int,
        stacking: Stacking,
        graphs: PackedGraphs,
        stream: torch.cuda.Stream | None,
    ) -> None:
        start = time.perf_counter()
        self.number, self.stream = number, stream
        with torch.cuda.stream(stream):
            self.stack = Stack(graphs, stacking.runs, stacking.metric, stream)
        self.epochs = self.stack.run(stacking.on_epoch)
        self.seconds = [0.0] * len(stacking.runs)
        self._charge(self.stack.running, time.perf_counter() - start)

    def take(self) -> list[Ended]:
        """One epoch; the runs that have been put away."""
        start, running = time.perf_counter(), self.stack.running
        with torch.cuda.stream(self.stream):
            ended = next(self.epochs)
        self._charge(running, time.perf_counter() - start)
        for number, result in ended:
            if isinstance(result, Trained):
                result.seconds, result.replicas = self.seconds[number], len(self.seconds)
        return ended

    def _charge(self, running: list[int], seconds: float) -> None:
        """The runs that are running have each taken their part of the time."""
        for number in running:
            self.seconds[number] += seconds / len(running)


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
