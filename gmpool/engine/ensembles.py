"""Models that are joined of several trainings, which are jobs of their own."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gmpool.engine.executors.executor import (
    Begin,
    Done,
    Executor,
    Outcome,
    Watcher,
    Work,
    freely,
    outcome,
)
from gmpool.engine.job import Job, Run
from gmpool.engine.row import CURVES
from gmpool.engine.train import Trained
from gmpool.engine.training import Epoch
from gmpool.errors import UserError
from gmpool.record import Row


class Members(NamedTuple):
    """What came of the runs of a job, in their order."""

    models: Sequence[Any]
    rows: Sequence[Row]


Train = Callable[[Sequence[Job], Watcher | None], Sequence[Members | UserError]]
"""Does all runs of jobs; of each job its members, or the error that ended one of them."""


@dataclass(frozen=True)
class Ensembles:
    """An executor for runs of both kinds. those: does plain runs; train: members."""

    those: Executor
    train: Train

    @property
    def joins_jobs(self) -> bool:
        return self.those.joins_jobs

    def run(
        self, work: Sequence[Work], watcher: Watcher | None, begin: Begin = freely
    ) -> Generator[Outcome]:
        plain = [each for each in work if not each.job.is_joined]
        if plain:
            yield from self.those.run(plain, watcher, begin)
        several = [each for each in work if each.job.is_joined]
        begun = [(job, run) for job, runs in several for run in filter(begin, runs)]
        if not begun:
            return
        told = None if watcher is None else _OfMembers(watcher)
        jobs = [_members_job(job, run) for job, run in begun]
        for (job, run), members in zip(begun, self.train(jobs, told), strict=True):
            found = members if isinstance(members, UserError) else _joined(job, run, members)
            device = members.rows[0].device if isinstance(members, Members) else "cpu"
            yield outcome(job, run, found, device)


def _members_job(job: Job, run: Run) -> Job:
    found = job.task.trainings(job.dataset, run.fold, job.model, run.seed)
    return Job(
        job.task, job.task.card_of(found.dataset), found.model, job.train, found.seeds,
        found.folds, job.label, job.changed, found.dataset,
    )  # fmt: skip


def in_memory(executor: Executor) -> Train:
    """Keeps nothing: who is stopped begins anew."""

    def train(jobs: Sequence[Job], watcher: Watcher | None) -> list[Members | UserError]:
        done: dict[int, dict[str, Done | UserError]] = {id(job): {} for job in jobs}
        work = [Work(job, job.runs) for job in jobs]
        for job, run, found in executor.run(work, watcher):
            done[id(job)][run.key] = found
            if watcher and isinstance(found, Done):
                watcher.run_finished(job, run, found.row, reused=False)
        return [_together([done[id(job)][run.key] for run in job.runs]) for job in jobs]

    return train


def _together(found: Sequence[Done | UserError]) -> Members | UserError:
    failed = next((each for each in found if isinstance(each, UserError)), None)
    if failed:
        return failed
    done = [each for each in found if isinstance(each, Done)]
    return Members([each.trained.model for each in done], [each.row for each in done])


def _joined(job: Job, run: Run, members: Members) -> Trained | UserError:
    models, rows = [model.to("cpu") for model in members.models], members.rows
    data = job.task.data_for(job.dataset, job.model)
    try:
        made = job.task.joined(models, data, run.fold, job.model, run.seed)
    except UserError as error:
        return error
    best = Epoch(
        round(statistics.fmean(row.best_epoch for row in rows)),
        math.nan,
        made.valid_loss,
        made.valid_metric,
    )
    said = [{"seed": r.seed, "fold": r.fold, "test": r.test, "valid": r.valid} for r in rows]
    return Trained(
        made.model,
        best,
        made.test_metric,
        math.nan,
        sum(row.seconds for row in rows),
        _mean_curve(rows),
        replicas=max(row.replicas or 1 for row in rows),
        outputs=dict(made.outputs),
        watched={"members": said},
    )


def _mean_curve(rows: Sequence[Row]) -> list[Epoch]:
    """The mean over the members that have come so far."""
    epochs = []
    for at in range(max(row.epochs for row in rows)):
        points = [
            [row.curve[name][at] for row in rows if at < len(row.curve.get(name, ()))]
            for name in CURVES
        ]
        if any(points):
            epochs.append(Epoch(at + 1, *map(_mean, points)))
    return epochs


def _mean(values: Sequence[float | None]) -> float:
    there = [value for value in values if value is not None]
    return statistics.fmean(there) if there else math.nan


@dataclass(frozen=True)
class _OfMembers:
    """Lets the watcher of ensembles see their members go by."""

    watcher: Watcher

    def run_started(self, job: Job, run: Run) -> Callable[[Epoch], None]:
        return self.watcher.run_started(job, run)

    def stack_started(self, jobs: Sequence[Job], runs: int) -> Callable[[int, int], None]:
        return self.watcher.stack_started(jobs, runs)

    def run_finished(self, job: Job, run: Run, row: Row, *, reused: bool) -> None:
        number, of = 1 + job.runs.index(run), len(job.runs)
        how = "recorded before" if reused else f"{row.epochs} epochs, {row.seconds:.1f} s"
        score = "undefined" if row.valid is None else f"{row.valid:.4g}"
        member = f"{job.label} on {job.name}: member {number} of {of}"
        self.watcher.note(f"{member}, valid {row.metric} {score} ({how})")

    def placed(self, runs: Mapping[str, int]) -> None:
        self.watcher.placed(runs)

    def note(self, text: str) -> None:
        self.watcher.note(text)
