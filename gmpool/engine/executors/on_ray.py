"""Runs on a Ray cluster: one CPU each, or a whole stack on a GPU."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from math import ceil
from typing import ClassVar, NamedTuple

import torch

from gmpool.engine.executors.executor import (
    Alone,
    Begin,
    Done,
    Executor,
    Outcome,
    Watcher,
    Work,
    freely,
)
from gmpool.engine.executors.processes import be_of_one_thread
from gmpool.engine.executors.ray_tasks import Cluster
from gmpool.engine.executors.stacked import Stacked
from gmpool.engine.job import Job, Run
from gmpool.errors import UserError

Runs = list[tuple[int, Run]]
"""Of one job or several, by their numbers."""


class _Shared(NamedTuple):
    jobs: list[Job]
    executor: Executor
    tf32: bool


@dataclass(frozen=True)
class OnRay:
    """replicas: how many runs are one task and one program there; None: on GPUs as many as there
    are for each of them, on CPUs one. What is lost with a node is done again elsewhere."""

    cluster: Cluster
    replicas: int | None = None
    tf32: bool = False
    joins_jobs: ClassVar[bool] = True

    @property
    def device(self) -> str:
        return "cuda" if self.cluster.gpus else "cpu"

    @property
    def workers(self) -> int:
        return self.cluster.slots

    def run(
        self, work: Sequence[Work], watcher: Watcher | None, begin: Begin = freely
    ) -> Generator[Outcome]:
        jobs, done = [job for job, _ in work], Counter[str]()

        def claimed() -> Iterator[Runs]:
            for runs in self._tasks(work):
                if mine := [(number, run) for number, run in runs if begin(run)]:
                    yield mine

        def lost(runs: Runs, times: int) -> None:
            if watcher:
                job, run = jobs[runs[0][0]], runs[0][1]
                more = f" and {len(runs) - 1} more" if len(runs) > 1 else ""
                watcher.note(
                    f"{job.label} on {job.name}, seed {run.seed} fold {run.fold}{more}: lost with "
                    f"its worker or node, done again elsewhere (time {times})"
                )

        shared = _Shared(jobs, self._in_a_task, self.tf32)
        with closing(self.cluster.each(_train, shared, claimed(), lost)) as tasks:
            for runs, made, node in tasks:
                found = len(runs) * [made] if isinstance(made, UserError) else pickle.loads(made)
                if not isinstance(made, UserError):
                    done[node] += len(runs)
                    if watcher:
                        watcher.placed(done)
                for (number, run), each in zip(runs, found, strict=True):
                    yield jobs[number], run, each

    @property
    def _in_a_task(self) -> Executor:
        alone = self.replicas == 1 or (self.replicas is None and not self.cluster.gpus)
        return Alone(self.device) if alone else Stacked(self.device, self.replicas)

    def _tasks(self, work: Sequence[Work]) -> Iterator[Runs]:
        """Runs of one job, as many as are done together."""
        total = sum(len(runs) for _, runs in work)
        size = self.replicas or (ceil(total / max(self.workers, 1)) if self.cluster.gpus else 1)
        for number, (_, runs) in enumerate(work):
            for at in range(0, len(runs), size):
                yield [(number, run) for run in runs[at : at + size]]


def _train(shared: _Shared, runs: Runs) -> bytes:
    """In a worker: what came of each, in their order."""
    torch.backends.cuda.matmul.allow_tf32 = shared.tf32
    be_of_one_thread()
    work: dict[int, Work] = {}
    for number, run in runs:
        work.setdefault(number, Work(shared.jobs[number], [])).runs.append(run)
    found: dict[str, Done | UserError] = {}
    for _, run, came in shared.executor.run([*work.values()], None):
        found[run.key] = came
    return pickle.dumps([found[run.key] for _, run in runs])
