"""Jobs through the run store: what is recorded is not done again, whatever way the rest is run."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from gmpool.engine.checkpoint import Keep, require_weights
from gmpool.engine.executors.executor import Executor, Watcher, Work
from gmpool.engine.job import Job, Run
from gmpool.engine.store import RunStore
from gmpool.errors import UserError
from gmpool.record import Row


@dataclass(frozen=True)
class Failure:
    """Runs of a job that a user's error ended: how many, and the first of them."""

    job: Job
    runs: int
    error: UserError
    first: Run | None = None
    """None where the data could not be loaded."""

    def __str__(self) -> str:
        first = self.first
        which = f", the first with seed {first.seed} fold {first.fold}" if first else ""
        return (
            f"{self.job.label} on {self.job.name}, {self.runs} of {len(self.job.runs)} "
            f"run(s){which}: {self.error}"
        )

    def to_json(self) -> dict[str, Any]:
        line, dataset = self.job.label, self.job.name
        return {"line": line, "dataset": dataset, "runs": self.runs, "error": str(self.error)}


def run_jobs(
    jobs: Sequence[Job],
    store: RunStore,
    executor: Executor,
    *,
    watcher: Watcher | None = None,
    keep: Keep | None = None,
    failures: list[Failure] | None = None,
) -> list[Row]:
    """Do the runs that the store does not hold yet; the rows of all, job by job.

    keep: who keeps the models; recorded runs whose models it wants are done again, with equal
    result. failures: takes the runs that a user's error ended, which have no row, while the others
    go on; without it the error is raised.
    """
    if keep:
        require_weights(jobs)
    finished = store.finished()
    work: list[Work] = []
    for job in jobs:
        left = []
        for run in job.runs:
            if run.key not in finished or (keep and keep.wants(run)):
                left.append(run)
            elif watcher:
                watcher.run_finished(job, run, finished[run.key], reused=True)
        if left:
            work.append(Work(job, left))
    failed: dict[int, list[tuple[Run, UserError]]] = {}
    with closing(executor.run(work, watcher)) as outcomes:  # who fails here leaves nobody at work
        for job, run, done in outcomes:
            if isinstance(done, UserError):
                if failures is None:
                    raise done
                failed.setdefault(id(job), []).append((run, done))
                continue
            if run.key not in finished:
                store.record(done.row)
                finished[run.key] = done.row
            if keep:
                keep.take(job, run, done)
            if watcher:
                watcher.run_finished(job, run, done.row, reused=False)
    if failures is not None:
        for job in jobs:
            if mine := failed.get(id(job)):
                failures.append(Failure(job, len(mine), mine[0][1], mine[0][0]))
    return [finished[run.key] for job in jobs for run in job.runs if run.key in finished]


def run_plan(
    jobs: Iterable[Job],
    store: RunStore,
    executor: Executor,
    *,
    root: Path | None = None,
    watcher: Watcher | None = None,
    on_job: Callable[[Job], None] | None = None,
    keep: Keep | None = None,
) -> list[Failure]:
    """Do the runs of jobs whose data are not open yet, each set opened once; what fails does not
    stop the others. A store that cannot be written ends it all: StoreError is raised.
    """
    jobs = list(jobs)
    if keep:
        require_weights(jobs)
    failures: list[Failure] = []
    opened: dict[tuple[str, str], Any] = {}
    for _, together in groupby(jobs, _family if executor.joins_jobs else _program):
        ready: list[Job] = []
        for job in together:
            which = job.task.family, job.name
            if which not in opened:
                opened[which] = job.dataset or _open(job, root)
            dataset = opened[which]
            if isinstance(dataset, UserError):
                failures.append(Failure(job, len(job.runs), dataset))
                continue
            ready.append(replace(job, dataset=dataset, card=job.task.card_of(dataset)))
            if on_job:
                on_job(job)
        if ready:
            run_jobs(ready, store, executor, watcher=watcher, keep=keep, failures=failures)
    return failures


def _program(job: Job) -> tuple[object, ...]:
    """Jobs that are run together have it in common: one set and method, where the task lets all of
    its programs take turns."""
    alone = id(job) if job.task.at_once is not None else None
    return job.task.name, job.name, job.model.method, alone


def _family(job: Job) -> str:
    return job.task.family


def _open(job: Job, root: Path | None) -> Any:
    try:
        return job.task.open(job.name, root)
    except UserError as error:
        return error
