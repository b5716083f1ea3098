"""Lines on how far a fit is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

from gmpool.engine.job import Job, Run
from gmpool.engine.training import Epoch
from gmpool.record import Row


class Told:
    """A watcher that writes what is noted to standard error."""

    def run_started(self, job: Job, run: Run) -> Callable[[Epoch], None]:
        return lambda epoch: None

    def stack_started(self, jobs: Sequence[Job], runs: int) -> Callable[[int, int], None]:
        return lambda epoch, running: None

    def run_finished(self, job: Job, run: Run, row: Row, *, reused: bool) -> None:
        self.note(f"{job.label}: valid {row.metric} {row.valid} ({row.epochs} epochs)")

    def placed(self, runs: Mapping[str, int]) -> None: ...

    def note(self, text: str) -> None:
        print(text, file=sys.stderr)
