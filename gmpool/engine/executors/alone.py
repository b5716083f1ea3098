"""One run after the other, in this process."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from gmpool.engine.executors.executor import Outcome, Watcher, Work, train_one


@dataclass(frozen=True)
class Alone:
    """device: cpu, cuda or cuda:N."""

    device: str = "cpu"
    joins_jobs: ClassVar[bool] = False

    def run(self, work: Sequence[Work], watcher: Watcher | None) -> Generator[Outcome]:
        for job, runs in work:
            for run in runs:
                on_epoch = watcher.run_started(job, run) if watcher else None
                yield train_one(job, run, self.device, on_epoch)
