"""The two programs of a stacked training, a step and an evaluation, each of fixed shape.

On a CUDA device each is captured once as a CUDA graph and replayed. All that changes from step to
step, the batch included, is read from tensors whose places stay.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor

from gmpool.data.fixed_batch import Bounds, FixedBatches
from gmpool.engine.stack.adam import Adam
from gmpool.engine.stack.replicas import Replicas
from gmpool.tasks.metrics import HIGHER_IS_BETTER, metrics_of


class Feed:
    """Batches of one shape, which the device takes one after the other."""

    def __init__(self, ids: Tensor, bounds: Bounds, device: torch.device) -> None:
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
    weights: Tensor  # [R, P]

    @classmethod
    def none_yet(cls, by_loss: Tensor, weights: Tensor) -> Best:
        score = torch.full(by_loss.shape, -torch.inf, dtype=torch.float64, device=by_loss.device)
        return cls(by_loss, score, torch.zeros_like(by_loss), weights.clone())

    def offer(self, score: Tensor, weights: Tensor, running: Tensor) -> Tensor:
        """Keep what is strictly better; a score that is not defined never is, but as the first.
        Which were better, [R]."""
        score = score.nan_to_num(nan=-torch.inf)
        better = running & ((score > self.score) | ~self.seen)
        self.seen |= better
        self.score.copy_(torch.where(better, score, self.score))
        self.weights.copy_(torch.where(better[:, None], weights, self.weights))
        return better

    def keep(self, rows: Tensor) -> Best:
        return Best(**{name: value.index_select(0, rows) for name, value in vars(self).items()})


class Program:
    """R replicas, where they are in their training, and what one step or evaluation does."""

    def __init__(
        self,
        replicas: Replicas,
        adam: Adam,
        batches: FixedBatches,
        *,
        feeds: list[Feed],
        valid: Tensor,
        valid_bounds: Bounds,
        metric: str,
        best: Best,
        stream: torch.cuda.Stream | None,
        rehearse: bool,
    ) -> None:
        """feeds: the batches to come, one feed for each shape; valid [R, S, B]. stream: where to
        capture, for programs that run beside others: scratch memory is one per stream. rehearse:
        run each once before its capture, for what happens once in a process."""
        self.replicas, self.adam, self.batches = replicas, adam, batches
        self.device = batches.device
        self.feeds, self.valid = feeds, valid.to(self.device)
        self.valid_bounds, self.metric, self.best = valid_bounds, metric, best
        R = replicas.count
        self.running = torch.zeros(R, dtype=torch.bool, device=self.device)
        self.loss_sum = torch.zeros(R, dtype=torch.float64, device=self.device)
        self.results = torch.zeros(4, R, dtype=torch.float64, device=self.device)
        self.stream, self.rehearse = stream, rehearse
        self.pool: Any = None
        self.steps = [self._captured(partial(self._step, feed)) for feed in feeds]
        self.evaluate = self._captured(self._evaluate)

    def _captured(self, work: Callable[[], None]) -> Callable[[], None]:
        if self.device.type != "cuda":
            return work
        if self.pool is None:
            # One pool for all: they never run at the same time, and leave nothing in it.
            self.pool = torch.cuda.graph_pool_handle()
        if self.rehearse or not loads_while_capturing():
            # Nobody is running yet, so that it moves no weight.
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

    def _step(self, feed: Feed) -> None:
        ids = feed.next()  # [R, B]
        graphs = (ids != self.batches.empty).sum(1)  # [R]
        batch = self.batches.make(ids, feed.bounds)
        self.replicas.set_clock(self.adam.clock)
        losses, grads = self.replicas.gradients(batch)
        active = self.running & (graphs > 0)
        self.adam.step(self.replicas.weights, grads, active)
        self.loss_sum += torch.where(active, losses.double() * graphs, 0.0)

    def _evaluate(self) -> None:
        """Validation loss and metric, and the weights of those who have never been better."""
        loss, metric = evaluated(
            self.replicas, self.batches, self.valid, self.valid_bounds, self.metric
        )
        sign = 1.0 if HIGHER_IS_BETTER[self.metric] else -1.0
        score = torch.where(self.best.by_loss, -loss, sign * metric)
        better = self.best.offer(score, self.replicas.weights, self.running)
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


def evaluated(
    replicas: Replicas, batches: FixedBatches, ids: Tensor, bounds: Bounds, metric: str
) -> tuple[Tensor, Tensor]:
    """(losses, metrics) of the replicas on the graphs ids [R, S, B]. Both float64 [R]"""
    parts = [replicas.predict(batches.make(part, bounds)) for part in ids.unbind(1)]
    out, y = (torch.cat(rows, dim=1) for rows in zip(*parts, strict=True))  # [R, n, ...]
    losses, readable = replicas.judge_all(out, y)
    return losses.double(), metrics_of(metric, readable, y).double()
