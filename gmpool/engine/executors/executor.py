"""What a way to run is."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

from gmpool.engine.hands import ALONE, Hands
from gmpool.engine.job import Job, Run
from gmpool.engine.row import finished_row
from gmpool.engine.train import Trained, train
from gmpool.engine.training import Epoch
from gmpool.errors import UserError
from gmpool.record import Row


class Work(NamedTuple):
    """Runs of a job that are to be done."""

    job: Job
    runs: list[Run]


class Done(NamedTuple):
    """A finished run, and what is recorded of it."""

    trained: Trained
    row: Row


Outcome = tuple[Job, Run, Done | UserError]


class Watcher(Protocol):
    """Who wants to see runs go by: a progress bar, or nobody."""

    def run_started(self, job: Job, run: Run) -> Callable[[Epoch], None]: ...

    def stack_started(self, jobs: Sequence[Job], runs: int) -> Callable[[int, int], None]: ...

    def run_finished(self, job: Job, run: Run, row: Row, *, reused: bool) -> None: ...

    def placed(self, runs: Mapping[str, int]) -> None:
        """How many have been done so far on which node of a cluster."""
        ...

    def note(self, text: str) -> None: ...


Begin = Callable[[Run], bool]
"""Is asked before a run is begun; no: somebody else does it, and it is left out."""


def freely(run: Run) -> bool:
    """Nobody else is there."""
    return True


class Executor(Protocol):
    """What is recorded is decided above it, so that it is resumable without a line of its own."""

    @property
    def joins_jobs(self) -> bool:
        """Whether runs of several jobs are better given together."""
        ...

    def run(
        self, work: Sequence[Work], watcher: Watcher | None, begin: Begin = freely
    ) -> Generator[Outcome]:
        """Do all runs; each with its result as it comes, or with the user's error that ended it."""
        ...


def outcome(job: Job, run: Run, trained: Trained | UserError, device: str) -> Outcome:
    """With the row of a run that came to its end, where its task has nothing against it."""
    if isinstance(trained, UserError):
        return job, run, trained
    try:
        return job, run, Done(trained, finished_row(job, run, trained, device))
    except UserError as error:
        return job, run, error


def train_one(
    job: Job,
    run: Run,
    device: str,
    on_epoch: Callable[[Epoch], None] | None = None,
    hands: Hands = ALONE,
) -> Outcome:
    """One run, in this process. hands: who does the steps."""
    return outcome(job, run, trained_by(hands, job, run, device, on_epoch), device)


def trained_by(
    hands: Hands,
    job: Job,
    run: Run,
    device: str,
    on_epoch: Callable[[Epoch], None] | None = None,
) -> Trained | UserError:
    """A run as it is before anything is recorded of it."""
    try:
        return train(
            job.task,
            job.dataset,
            job.split(run),
            job.model,
            job.train,
            seed=run.seed,
            device=device,
            on_epoch=on_epoch,
            hands=hands,
        )
    except UserError as error:
        return error


@dataclass(frozen=True)
class Alone:
    """device: cpu, cuda or cuda:N."""

    device: str = "cpu"
    joins_jobs: ClassVar[bool] = False

    def run(
        self, work: Sequence[Work], watcher: Watcher | None, begin: Begin = freely
    ) -> Generator[Outcome]:
        for job, runs in work:
            for run in filter(begin, runs):
                on_epoch = watcher.run_started(job, run) if watcher else None
                yield train_one(job, run, self.device, on_epoch)
