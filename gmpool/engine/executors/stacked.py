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
from gmpool.engine.stack.size import largest_stack
from gmpool.engine.stack.stack import Member
from gmpool.engine.stack.turns import Stacking, train_together


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
        stacks: list[Work] = []
        for job, runs in work:
            if why := job.task.cannot_stack(job.dataset, job.model):
                if watcher:
                    watcher.note(f"{job.model.method} on {job.name} runs one at a time: {why}")
                yield from Alone(self.device).run([Work(job, runs)], watcher, begin)
                continue
            members, beside = _members(job, runs), min(at_once, len(work)) - 1
            size = self.replicas or largest_stack(
                job.task, job.dataset, members, self.device, beside=beside
            )
            stacks += [Work(job, runs[at : at + size]) for at in range(0, len(runs), size)]
        begun: list[Work] = []

        def stackings() -> Iterator[Stacking]:
            """Each when its turn comes, with the runs that nobody else does by then."""
            for job, runs in stacks:
                if mine := list(filter(begin, runs)):
                    begun.append(Work(job, mine))
                    on_epoch = watcher.stack_started(job, mine) if watcher else None
                    yield Stacking(job.task, job.dataset, _members(job, mine), on_epoch)

        for number, at, trained in train_together(stackings(), device=self.device, at_once=at_once):
            job, runs = begun[number]
            yield outcome(job, runs[at], trained, self.device)

    def _at_once(self, work: Sequence[Work]) -> int:
        if self.side_by_side is not None:
            return self.side_by_side
        most = max((job.task.at_once or len(work) for job, _ in work), default=1)
        return most if self.device.startswith("cuda") else 1


def _members(job: Job, runs: Sequence[Run]) -> list[Member]:
    return [Member(job.split(run), job.model, job.train, run.seed) for run in runs]
