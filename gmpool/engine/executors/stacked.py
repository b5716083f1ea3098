"""Many runs as one program."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from gmpool.engine.executors.executor import (
    Alone,
    Begin,
    Outcome,
    Watcher,
    Work,
    freely,
    outcome,
)
from gmpool.engine.job import Job, Run
from gmpool.engine.stack.members import Member
from gmpool.engine.stack.size import largest_stack
from gmpool.engine.stack.turns import Stacking, train_together

Runs = list[tuple[Job, Run]]
"""Of one or more jobs."""


@dataclass(frozen=True)
class Stacked:
    """replicas: how many runs are one program; None: as many as the memory holds. Runs that cannot
    be stacked are done one at a time, and the watcher is told.
    side_by_side: how many programs take turns, which on a GPU overlap; None: as many as the task
    says on a GPU, and one on a CPU, where turns would only delay the first results.
    """

    device: str = "cpu"
    replicas: int | None = None
    side_by_side: int | None = None

    @property
    def joins_jobs(self) -> bool:
        return self.side_by_side is not None

    def run(
        self, work: Sequence[Work], watcher: Watcher | None, begin: Begin = freely
    ) -> Generator[Outcome]:
        at_once = self._at_once(work)
        joined: list[Runs] = []
        for job, runs in work:
            if why := job.task.cannot_stack(job.dataset, job.model):
                if watcher:
                    watcher.note(f"{job.model.method} on {job.name} runs one at a time: {why}")
                yield from Alone(self.device).run([Work(job, runs)], watcher, begin)
                continue
            alike = next((other for other in joined if _alike(other[0][0], job)), None)
            if alike is None:
                joined.append(alike := [])
            alike += [(job, run) for run in runs]
        stacks = [stack for runs in joined for stack in self._stacks(runs, at_once, len(joined))]
        begun: list[Runs] = []

        def stackings() -> Iterator[Stacking]:
            """Each when its turn comes, with the runs that nobody else does by then."""
            for runs in stacks:
                if mine := [(job, run) for job, run in runs if begin(run)]:
                    begun.append(mine)
                    jobs = list(dict.fromkeys(job for job, _ in mine))
                    on_epoch = watcher.stack_started(jobs, len(mine)) if watcher else None
                    yield Stacking(jobs[0].task, jobs[0].dataset, _members(mine), on_epoch)

        for number, at, trained in train_together(stackings(), device=self.device, at_once=at_once):
            yield outcome(*begun[number][at], trained, self.device)

    def _stacks(self, runs: Runs, at_once: int, programs: int) -> Iterator[Runs]:
        """As large as they may be. programs: how many kinds of them there are."""
        job, beside = runs[0][0], min(at_once, programs) - 1
        size = self.replicas or largest_stack(
            job.task, job.dataset, _members(runs), self.device, beside=beside
        )
        for at in range(0, len(runs), size):
            yield runs[at : at + size]

    def _at_once(self, work: Sequence[Work]) -> int:
        if self.side_by_side is not None:
            return self.side_by_side
        most = max((job.task.at_once or len(work) for job, _ in work), default=1)
        return most if self.device.startswith("cuda") else 1


def _alike(one: Job, other: Job) -> bool:
    """Whether runs of both can be one program."""
    return (
        one.task is other.task
        and one.dataset is other.dataset
        and one.task.architecture(one.model) == other.task.architecture(other.model)
        and all(getattr(one.train, k) == getattr(other.train, k) for k in one.task.alike)
    )


def _members(runs: Runs) -> list[Member]:
    return [Member(job.split(run), job.model, job.train, run.seed) for job, run in runs]
