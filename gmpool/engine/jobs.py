"""Jobs through the run store: what is recorded is not done again; runs in stacks or one by one."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from typing import Protocol, TypeVar

from gmpool.config import RunSpec
from gmpool.data import Dataset, Split
from gmpool.engine.executors.processes import Done, in_processes
from gmpool.engine.stack.size import largest_stack
from gmpool.engine.stack.stack import Run
from gmpool.engine.stack.turns import Stacking, cannot_stack, train_together
from gmpool.engine.store import Row, RunStore
from gmpool.engine.train import AnyModelConfig, Epoch, Trained, train
from gmpool.errors import UserError
from gmpool.tasks.kernel.fit import Fitted


class Watcher(Protocol):
    """Who wants to see runs go by: a progress bar, or nobody."""

    def run_started(self, spec: RunSpec) -> Callable[[Epoch], None]: ...

    def stack_started(self, specs: Sequence[RunSpec]) -> Callable[[int, int], None]: ...

    def run_finished(self, spec: RunSpec, row: Row, *, reused: bool) -> None: ...

    def note(self, text: str) -> None: ...


class AnyJob(Protocol):
    """One method on one set with all its runs, whatever the task."""

    @property
    def dataset(self) -> Dataset: ...

    @property
    def model(self) -> AnyModelConfig: ...

    @property
    def metric(self) -> str: ...

    def specs(self) -> list[RunSpec]: ...

    def split_of(self, spec: RunSpec) -> Split: ...

    def train_alone(
        self, spec: RunSpec, device: str, on_epoch: Callable[[Epoch], None] | None
    ) -> Trained | Fitted: ...

    def row(self, spec: RunSpec, trained: Trained | Fitted, device: str) -> Row: ...


J = TypeVar("J", bound=AnyJob)


def run_jobs(
    jobs: Sequence[J],
    store: RunStore,
    *,
    device: str = "cpu",
    watcher: Watcher | None = None,
    replicas: int | None = 1,
    at_once: int | None = 1,
    workers: int = 1,
    again: Callable[[RunSpec], bool] | None = None,
    on_trained: Callable[[J, RunSpec, Trained | Fitted, Row], None] | None = None,
    on_failure: Callable[[J, RunSpec, UserError], None] | None = None,
) -> list[Row]:
    """Do the runs that the store does not hold yet; the rows of all, job by job.

    replicas: how many runs are one program; None: as many as the memory holds. Methods that cannot
    be stacked run one at a time, and the watcher is told.
    at_once: how many programs run side by side, which on a GPU overlap; None: all on a GPU, and one
    on a CPU, where turns would only delay the first results.
    workers: how many runs a CPU does at a time, each in a process with one thread.
    again: recorded runs that are to be done again, with equal result, for `on_trained` to see.
    on_failure: told of a run that ended with a user's error, after which the others go on and the
    run has no row; without it the error is raised.
    """
    finished = store.finished()
    to_do: list[tuple[J, list[RunSpec]]] = []
    for job in jobs:
        left = []
        for spec in job.specs():
            if spec.key not in finished or (again and again(spec)):
                left.append(spec)
            elif watcher:
                watcher.run_finished(spec, finished[spec.key], reused=True)
        if left:
            to_do.append((job, left))
    done: Generator[tuple[J, RunSpec, Done | UserError]]
    if workers > 1 and to_do:
        done = in_processes(to_do, workers)
    else:
        done = _in_this_process(to_do, device, watcher, replicas, at_once)
    with closing(done):  # who fails here must not leave workers at work
        for job, spec, outcome in done:
            if isinstance(outcome, UserError):
                if on_failure is None:
                    raise outcome
                on_failure(job, spec, outcome)
                continue
            trained, row = outcome
            if spec.key not in finished:
                store.record(row)
                finished[spec.key] = row
            if on_trained:
                on_trained(job, spec, trained, row)
            if watcher:
                watcher.run_finished(spec, row, reused=False)
    return [finished[s.key] for job in jobs for s in job.specs() if s.key in finished]


def _in_this_process(
    to_do: Sequence[tuple[J, list[RunSpec]]],
    device: str,
    watcher: Watcher | None,
    replicas: int | None,
    at_once: int | None,
) -> Generator[tuple[J, RunSpec, Done | UserError]]:
    for job, spec, trained in _outcomes(to_do, device, watcher, replicas, at_once):
        if isinstance(trained, UserError):
            yield job, spec, trained
        else:
            yield job, spec, (trained, job.row(spec, trained, device))


def _outcomes(
    to_do: Sequence[tuple[J, list[RunSpec]]],
    device: str,
    watcher: Watcher | None,
    replicas: int | None,
    at_once: int | None,
) -> Iterator[tuple[J, RunSpec, Trained | Fitted | UserError]]:
    """The result of each run as it comes: one by one, or in stacks."""
    if at_once is None:
        at_once = len(to_do) if device.startswith("cuda") else 1
    stacks: list[tuple[J, list[RunSpec]]] = []
    for job, specs in to_do:
        why = None if replicas == 1 else cannot_stack(job.dataset.graphs, job.model)
        if why and watcher:
            watcher.note(f"{job.model.method} on {job.dataset.name} runs one at a time: {why}")
        if replicas == 1 or why:
            for spec in specs:
                yield job, spec, _alone(job, spec, device, watcher)
            continue
        size = replicas or largest_stack(
            job.dataset.graphs, _runs(job, specs), device, beside=min(at_once, len(to_do)) - 1
        )
        stacks += [(job, specs[at : at + size]) for at in range(0, len(specs), size)]
    stackings = (
        Stacking(
            job.dataset.graphs,
            _runs(job, specs),
            job.metric,
            watcher.stack_started(specs) if watcher else None,
        )
        for job, specs in stacks
    )
    for number, run, outcome in train_together(stackings, device=device, at_once=at_once):
        job, specs = stacks[number]
        yield job, specs[run], outcome


def train_run(
    job: AnyJob, spec: RunSpec, device: str, on_epoch: Callable[[Epoch], None] | None
) -> Trained:
    """One run of a network, in this process."""
    return train(
        job.dataset.graphs,
        job.split_of(spec),
        spec.model,
        spec.train,
        metric=job.metric,
        seed=spec.seed,
        device=device,
        on_epoch=on_epoch,
    )


def _alone(
    job: J, spec: RunSpec, device: str, watcher: Watcher | None
) -> Trained | Fitted | UserError:
    try:
        return job.train_alone(spec, device, watcher.run_started(spec) if watcher else None)
    except UserError as error:
        return error


def _runs(job: AnyJob, specs: Sequence[RunSpec]) -> list[Run]:
    return [Run(job.split_of(spec), spec.model, spec.train, spec.seed) for spec in specs]
