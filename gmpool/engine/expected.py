"""How much of a plan is still to do, and how long that may take by what is recorded."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gmpool.engine.job import Job, Recorded, settings_by
from gmpool.record import Row


@dataclass(frozen=True)
class Expected:
    """One job: runs asked for, recorded and to do, and the time for those to do."""

    job: Job
    recorded: int
    seconds: float | None
    """None where no run of the method is recorded on this device."""
    rough: bool
    """Whether it is guessed from runs with other settings or on other sets."""

    @property
    def to_do(self) -> int:
        return len(self.job.runs) - self.recorded

    def to_json(self) -> dict[str, Any]:
        return {
            "line": self.job.label, "method": self.job.model.method, "dataset": self.job.name,
            "runs": len(self.job.runs), "recorded": self.recorded, "to_do": self.to_do,
            "expected_seconds": self.seconds,
        }  # fmt: skip


def expected(
    jobs: Sequence[Job], recorded: Recorded, device: str, workers: int = 1
) -> list[Expected]:
    """device: as rows name it. workers: how many runs are done at a time."""
    found = []
    for job in jobs:
        done = len(recorded.of(job))
        to_do = len(job.runs) - done
        here = [row for row in recorded.of_method(job) if row.device == device]
        on_set = [row for row in here if row.dataset == job.name]
        same = [r.seconds for r in on_set if settings_by(job.task, r.config) == job.settings]
        each = same or _scaled(job, on_set, here)
        share = to_do / min(workers, max(to_do, 1))
        seconds = share * statistics.fmean(each) if each else None if to_do else 0.0
        found.append(Expected(job, done, seconds, rough=bool(to_do and each and not same)))
    return found


def _scaled(job: Job, on_set: Iterable[Row], anywhere: Iterable[Row]) -> list[float]:
    """Seconds of runs on the set with other settings, else on other sets, as if time grew with the
    epochs that are allowed and with the size of the set."""
    known = [row.seconds * _longer(job, row) for row in on_set]
    if known:
        return known
    cards = {row.dataset: job.task.card(row.dataset) for row in anywhere}
    return [
        row.seconds * _longer(job, row) * job.card.nodes / card.nodes
        for row in anywhere
        if (card := cards[row.dataset]) is not None
    ]


def _longer(job: Job, row: Row) -> float:
    return float(job.train.epochs / row.config["train"]["epochs"])
