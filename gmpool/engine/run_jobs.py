"""Jobs through the run store: what is recorded is not done again, whatever way the rest is run."""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from gmpool.engine.checkpoint import load_model
from gmpool.engine.claims import Claims
from gmpool.engine.ensembles import Ensembles, Members, Train
from gmpool.engine.executors.executor import Done, Executor, Watcher, Work
from gmpool.engine.job import Job, Run
from gmpool.engine.keep import Keep, KeepAll, require_weights, same_result
from gmpool.engine.store import RunStore
from gmpool.errors import UserError
from gmpool.record import Row

MEMBERS = "members"
"""The folder of a store for the members of its ensembles."""
LOOK_AGAIN = 0.2
"""Seconds, when all runs that are left are done by other processes."""


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

    Runs that other processes are doing are left to them and waited for.

    keep: who keeps the models; recorded runs whose models it lacks are done again. failures: takes
    the runs that a user's error ended, which have no row, while the others go on; without it the
    error is raised.
    """
    if keep:
        require_weights(jobs)
    with Claims(store.folder) as claims:
        runs = _Runs(jobs, store, claims, watcher, keep, goes_on=failures is not None)
        _do([runs], Ensembles(executor, _in_store(executor, store)))
    if failures is not None:
        failures += runs.failures()
    return runs.rows()


def _in_store(executor: Executor, store: RunStore) -> Train:
    """Members are recorded and kept below the store, so that they are never trained again."""

    def train(jobs: Sequence[Job], watcher: Watcher | None) -> list[Members | UserError]:
        folder = store.folder / MEMBERS
        kept, failures = KeepAll(folder / "models"), list[Failure]()
        members = RunStore(folder)
        run_jobs(jobs, members, executor, watcher=watcher, keep=kept, failures=failures)
        failed = {id(failure.job): failure.error for failure in failures}
        finished = members.finished()
        return [
            failed.get(id(job))
            or Members(
                [load_model(kept.folder / run.key).model for run in job.runs],
                [finished[run.key] for run in job.runs],
            )
            for job in jobs
        ]

    return train


class _Runs:
    """The runs of jobs that are given together: what is left of them, and what came of them."""

    def __init__(
        self,
        jobs: Sequence[Job],
        store: RunStore,
        claims: Claims,
        watcher: Watcher | None,
        keep: Keep | None,
        *,
        goes_on: bool,
    ) -> None:
        self.jobs, self.store, self.claims, self.goes_on = jobs, store, claims, goes_on
        self.watcher, self.keep = watcher, keep
        self.told: set[str] = set()
        self.failed: dict[str, tuple[Job, Run, UserError]] = {}

    def left(self) -> list[Work]:
        """Those that are not recorded; when all are, those whose models are missing. Who watches
        is told of the others."""
        finished = self.store.finished()
        missing = self.keep.missing(self.rows()) if self.keep else set()
        unrecorded, unkept = [], []
        for job in self.jobs:
            unrecorded.append(Work(job, []))
            unkept.append(Work(job, []))
            for run in job.runs:
                if run.key in self.failed:
                    continue
                if run.key not in finished:
                    unrecorded[-1].runs.append(run)
                elif run.key in missing:
                    unkept[-1].runs.append(run)
                else:
                    self._tell(job, run, finished[run.key], reused=True)
        return _some(unrecorded) or _some(unkept)

    def do(self, executor: Executor, left: Sequence[Work]) -> bool:
        """Do those of the runs that nobody else does; whether there were any."""
        free = [Work(job, [r for r in runs if self.claims.is_free(r.key)]) for job, runs in left]
        if not (work := _some(free)):
            return False
        with closing(executor.run(work, self.watcher, self.begin)) as outcomes:
            for job, run, done in outcomes:  # who fails here leaves nobody at work
                self._take(job, run, done)
                self.claims.release(run.key)
        return True

    def begin(self, run: Run) -> bool:
        """Claim a run, unless it has been done since."""
        if not self.claims.take(run.key):
            return False
        missing = self.keep.missing(self.rows()) if self.keep else set()
        if run.key not in self.store.finished() or run.key in missing:
            return True
        self.claims.release(run.key)
        return False

    def _take(self, job: Job, run: Run, done: Done | UserError) -> None:
        if isinstance(done, UserError):
            if not self.goes_on:
                raise done
            self.failed[run.key] = job, run, done
            return
        recorded = self.store.finished().get(run.key)
        try:
            if self.keep:  # models first: who finds the row finds the model
                self.keep.take(job, done, self.rows(done.row))
        finally:  # and a model that finds no room is no reason to lose the row
            if recorded is None:
                self.store.record(done.row)
        if self.watcher and recorded is not None and not same_result(recorded, done.row):
            self.watcher.note(_differs(job, run, done.row, recorded))
        self._tell(job, run, done.row, reused=False)

    def _tell(self, job: Job, run: Run, row: Row, *, reused: bool) -> None:
        if self.watcher and run.key not in self.told:
            self.watcher.run_finished(job, run, row, reused=reused)
        self.told.add(run.key)

    def rows(self, more: Row | None = None) -> list[Row]:
        """What is recorded, job by job; more: one that will be."""
        found = self.store.finished()
        if more is not None:
            found.setdefault(more.key, more)
        return [found[run.key] for job in self.jobs for run in job.runs if run.key in found]

    def failures(self) -> list[Failure]:
        found = []
        for job in self.jobs:
            mine = [(run, error) for other, run, error in self.failed.values() if other is job]
            if mine:
                found.append(Failure(job, len(mine), mine[0][1], mine[0][0]))
        return found


def _some(work: Iterable[Work]) -> list[Work]:
    return [each for each in work if each.runs]


def _do(groups: Sequence[_Runs], executor: Executor) -> None:
    """Do all runs, or see others do them. What a dead process leaves is taken over."""
    waiting, told = list(groups), False
    while waiting:
        left = [(group, work) for group in waiting if (work := group.left())]
        waiting = [group for group, _ in left]
        if not any(group.do(executor, work) for group, work in left) and left:
            watcher = waiting[0].watcher
            if watcher and not told:
                count = sum(len(runs) for _, work in left for _, runs in work)
                watcher.note(f"another process is at work on the {count} run(s) that are left")
            told = True
            time.sleep(LOOK_AGAIN)


def _differs(job: Job, run: Run, again: Row, recorded: Row) -> str:
    """What to say of a run that was done again for its weights and came out otherwise."""
    return (
        f"{job.label} on {job.name}, seed {run.seed} fold {run.fold}, was done again for its "
        f"weights and gave test {again.metric} {again.test} on {again.device}, where "
        f"{recorded.test} is recorded of {recorded.device}: the model says both"
    )


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

    What other processes are doing is waited for in the end, when nothing else is left.
    """
    jobs = list(jobs)
    if keep:
        require_weights(jobs)
    failures: list[Failure] = []
    opened: dict[tuple[str, str], Any] = {}
    groups: list[_Runs] = []
    executor = Ensembles(executor, _in_store(executor, store))
    with Claims(store.folder) as claims:
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
                    on_job(ready[-1])
            if ready:
                groups.append(_Runs(ready, store, claims, watcher, keep, goes_on=True))
                groups[-1].do(executor, groups[-1].left())
        _do(groups, executor)
    return failures + [failure for group in groups for failure in group.failures()]


def _program(job: Job) -> tuple[object, ...]:
    """Jobs that are run together have it in common: one set and method, where the task lets all of
    its programs take turns."""
    alone = id(job) if job.task.at_once is not None else None
    return job.task.name, job.name, job.task.architecture(job.model).method, alone


def _family(job: Job) -> str:
    return job.task.family


def _open(job: Job, root: Path | None) -> Any:
    try:
        return job.task.open(job.name, root)
    except UserError as error:
        return error
