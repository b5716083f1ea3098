"""The programs of a stacked training, steps and an evaluation, each of fixed shape.

On a CUDA device each is captured once as a CUDA graph and replayed. All that changes from step to
step, the batch included, is read from tensors whose places stay.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor

from gmpool.engine.stack.adam import Adam
from gmpool.engine.stack.replicas import Replicas
from gmpool.tasks.protocols import FixedBatches


class Feed:
    """Batches of one shape, which the device takes one after the other."""

    def __init__(self, ids: Tensor, bounds: Any, device: torch.device) -> None:
        """ids [R, T, B]"""
        self.ids, self.bounds = ids.to(device), bounds
        self.cursor = torch.zeros(1, dtype=torch.int64, device=device)

    def next(self) -> Tensor:
        """[R, B]"""
        ids = self.ids.index_select(1, self.cursor)[:, 0]
        self.cursor += 1
        self.cursor.remainder_(self.ids.shape[1])
        return ids

    def follow(self, ids: Tensor) -> None:
        """More batches, of the same shape."""
        self.ids.copy_(ids)
        self.cursor.zero_()


@dataclass
class Best:
    """The best weights of each replica so far."""

    by_loss: Tensor  # [R]: whether the best has the least loss; else the best metric
    score: Tensor  # [R]
    seen: Tensor  # [R]: whether there is one
    weights: list[Tensor]  # `Replicas.learned`

    @classmethod
    def none_yet(cls, by_loss: Tensor, weights: list[Tensor]) -> Best:
        score = torch.full(by_loss.shape, -torch.inf, dtype=torch.float64, device=by_loss.device)
        return cls(by_loss, score, torch.zeros_like(by_loss), [w.clone() for w in weights])

    def offer(self, score: Tensor, weights: list[Tensor], running: Tensor) -> Tensor:
        """Keep what is strictly better; a score that is not defined never is, but as the first.
        Which were better, [R]."""
        score = score.nan_to_num(nan=-torch.inf)
        better = running & ((score > self.score) | ~self.seen)
        self.score.copy_(torch.where(better, score, self.score))
        self._take(weights, better)
        return better

    def take(self, weights: list[Tensor], running: Tensor) -> Tensor:
        """Keep these, whatever they are worth: the last is the best where nothing is validated."""
        self._take(weights, running)
        return running.clone()

    def _take(self, weights: list[Tensor], better: Tensor) -> None:
        self.seen |= better
        for mine, theirs in zip(self.weights, weights, strict=True):
            mine.copy_(torch.where(better[:, None], theirs, mine))

    def keep(self, rows: Tensor) -> Best:
        by_loss, score, seen = (
            t.index_select(0, rows) for t in (self.by_loss, self.score, self.seen)
        )
        return Best(by_loss, score, seen, [w.index_select(0, rows) for w in self.weights])


class Program:
    """R replicas, where they are in their training, and what one step or evaluation does."""

    def __init__(
        self,
        replicas: Replicas,
        adams: Sequence[Adam],
        clock: Tensor,
        batches: FixedBatches,
        *,
        feeds: list[Feed],
        valid: Tensor | None,
        valid_bounds: Any,
        higher: bool,
        best: Best,
        numbers: Tensor | None,
        stream: torch.cuda.Stream | None,
        rehearse: bool,
    ) -> None:
        """adams: one for each phase. clock [R]: steps done. feeds: the batches to come, one feed
        for each shape; valid [R, S, B]. higher: whether more of the metric is better. numbers: of
        what models make of nothing for who watches, [n]. stream: where
        to capture, for programs that run beside others: scratch memory is one per stream. rehearse:
        run each once before its capture, for what happens once in a process."""
        self.replicas, self.adams, self.clock, self.batches = replicas, adams, clock, batches
        self.device = replicas.weights[0].device
        self.feeds, self.valid = feeds, None if valid is None else valid.to(self.device)
        self.valid_bounds, self.higher, self.best = valid_bounds, higher, best
        R = replicas.count
        self.running = torch.zeros(R, dtype=torch.bool, device=self.device)
        self.loss_sum = torch.zeros(R, dtype=torch.float64, device=self.device)
        self.results = torch.zeros(4, R, dtype=torch.float64, device=self.device)
        self.numbers = None if numbers is None else numbers.to(self.device)
        self.samples: list[Tensor] = []  # what was made of them last; each [R, n, ...]
        self.stream, self.rehearse = stream, rehearse
        self.pool: Any = None
        self.steps: dict[tuple[int, tuple[int, ...]], Callable[[], None]] = {}
        self.evaluate = self._captured(self._evaluate)

    def step(self, feed: int, taken: tuple[int, ...]) -> Callable[[], None]:
        """A step on the next batch of a feed with some of the phases, captured when it is first
        asked for: then nobody runs for a moment."""
        if (feed, taken) not in self.steps:
            where = self.feeds[feed].cursor
            running, cursor = self.running.clone(), where.clone()
            self.running.zero_()
            self.steps[feed, taken] = self._captured(partial(self._step, self.feeds[feed], taken))
            self.running.copy_(running)
            where.copy_(cursor)
        return self.steps[feed, taken]

    def _captured(self, work: Callable[[], None]) -> Callable[[], None]:
        if self.device.type != "cuda":
            return work
        if self.pool is None:
            # One pool for all: they never run at the same time, and leave nothing in it.
            self.pool = torch.cuda.graph_pool_handle()
        if self.rehearse or not loads_while_capturing():
            # Nobody is running, so that it moves no weight.
            side = self.stream or torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                work()
            torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool, stream=self.stream):
            work()
        return graph.replay

    def start(self, running: Tensor) -> None:
        """Let these replicas run, from the first of the batches drawn."""
        self.running.copy_(running)
        self.loss_sum.zero_()
        for feed in self.feeds:
            feed.cursor.zero_()

    def _step(self, feed: Feed, taken: tuple[int, ...]) -> None:
        ids = feed.next()  # [R, B]
        examples = (ids != self.batches.empty).sum(1)  # [R]
        batch = self.batches.make(ids, feed.bounds)
        active = self.running & (examples > 0)
        phases = self.replicas.model.phases
        for at in taken:
            self.replicas.set_clocks(len(phases) * self.clock + at)
            before = [t.clone() for t in self.replicas.statistics]
            losses, grads = self.replicas.gradients(batch, at)
            moved = active
            if phases[at].every > 1:  # replicas with fewer steps in an epoch are at other steps
                moved = active & ((self.clock + 1).remainder(phases[at].every) == 0)
            for now, then in zip(self.replicas.statistics, before, strict=True):
                now.copy_(torch.where(moved[:, None], now, then))
            self.adams[at].step(self.replicas.weights[at], grads, moved)
            if at == 0:
                self.loss_sum += torch.where(moved, losses.double() * examples, 0.0)
        self.clock += active

    def _evaluate(self) -> None:
        """Validation loss and metric, and the weights of those who have never been better."""
        if self.valid is None:
            loss = metric = torch.full_like(self.loss_sum, torch.nan)
            better = self.best.take(self.replicas.learned, self.running)
        else:
            rows = evaluated(self.replicas, self.batches, self.valid, self.valid_bounds)
            loss, metric = self.replicas.judge(rows)
            sign = 1.0 if self.higher else -1.0
            score = torch.where(self.best.by_loss, -loss, sign * metric)
            better = self.best.offer(score, self.replicas.learned, self.running)
        if self.numbers is not None:
            # Tensors of a capture that somebody holds are never taken by another one.
            self.samples = self.replicas.sample(self.numbers)
        self.results.copy_(torch.stack([self.loss_sum, loss, metric, better.double()]))
        self.loss_sum.zero_()


@cache
def loads_while_capturing() -> bool:
    """Whether the driver may load a kernel during a capture: those of CUDA 12.3 and later may.
    Else all that a capture needs, for each shape, must have run before."""
    if sys.platform != "linux" or torch.version.cuda is None:
        return False
    version = ctypes.c_int()
    ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    return version.value >= 12030


def evaluated(replicas: Replicas, batches: FixedBatches, ids: Tensor, bounds: Any) -> list[Tensor]:
    """The rows of the replicas on the examples ids [R, S, B], to be judged. Each [R, n, ...]"""
    parts = [replicas.evaluate(batches.make(part, bounds)) for part in ids.unbind(1)]
    return [torch.cat(rows, dim=1) for rows in zip(*parts, strict=True)]
