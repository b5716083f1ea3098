"""Runs in processes of their own: the same rows, failures that come through, nobody left behind."""

from __future__ import annotations

import multiprocessing
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_jobs import job, timeless

from gmpool.engine.executors.executor import Alone, Work
from gmpool.engine.executors.processes import Processes
from gmpool.engine.job import Job
from gmpool.engine.keep import KeepBest
from gmpool.engine.run_jobs import Failure, run_jobs
from gmpool.engine.store import RunStore
from gmpool.errors import UserError
from gmpool.tasks.classify.task import Classify


def one(method: str = "gmt", **options: Any) -> Job:
    return job(method, seeds=1, **options)


class Vanishing(Classify):
    """The process that trains its model ends as if it had been killed."""

    def build(self, *_: Any) -> Any:
        os._exit(1)


class Strict(Classify):
    """Has something against its finished runs."""

    def finish(self, *_: Any) -> dict[str, Any]:
        raise UserError("not good enough")


def test_the_rows_are_those_of_runs_alone(tmp_path: Path) -> None:
    """To the last bit, since conftest.py gives this process one thread, too."""
    jobs, failures = [one(), one("mean", lr=1e30), one("wl-svm")], list[Failure]()
    jobs.append(replace(one("gin"), task=Strict()))
    found = run_jobs(jobs, RunStore(tmp_path / "w"), Processes(2), failures=failures)
    alone = run_jobs([jobs[0], jobs[2]], RunStore(tmp_path / "a"), Alone())
    assert [(f.job, f.runs, type(f.error)) for f in failures] == [
        (jobs[1], 2, UserError), (jobs[3], 2, UserError)
    ]  # fmt: skip
    assert "not good enough" in str(failures[1])
    assert timeless(found) == timeless(alone)
    assert multiprocessing.active_children() == []


def test_where_no_process_can_be_forked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    found = run_jobs([one()], RunStore(tmp_path / "w"), Processes(2))
    alone = run_jobs([one()], RunStore(tmp_path / "a"), Alone())
    assert timeless(found) == timeless(alone)


def test_weights_come_back(tmp_path: Path) -> None:
    rows = run_jobs([one()], RunStore(tmp_path), Processes(2), keep=KeepBest(tmp_path / "model"))
    assert len(rows) == 2
    assert (tmp_path / "model").exists()


def test_many_sets_at_a_time() -> None:
    """Passed on as open files, their tensors would be too many for a new process."""
    jobs = [one("mean") for _ in range(64)]
    asked = [Work(jobs[0], jobs[0].runs), *(Work(other, []) for other in jobs[1:])]
    assert len(list(Processes(2).run(asked, None))) == 2


def test_who_stops_looking_stops_the_workers() -> None:
    long = one("mean", epochs=100_000, patience=None)
    short = one("mean")
    done = Processes(3).run([Work(short, short.runs[:1]), Work(long, long.runs)], None)
    first, _, _ = next(done)
    assert first is short
    done.close()
    for child in multiprocessing.active_children():
        child.join(timeout=10)
    assert multiprocessing.active_children() == []


def test_an_error_that_is_raised_stops_the_workers(tmp_path: Path) -> None:
    """Else whoever caught it would wait for all other runs at its own end."""
    wild, long = one("mean", lr=1e30), one("mean", epochs=100_000, patience=None)
    with pytest.raises(UserError) as raised:
        run_jobs([wild, long], RunStore(tmp_path), Processes(2))
    for child in multiprocessing.active_children():
        child.join(timeout=10)
    assert multiprocessing.active_children() == []
    assert raised.tb is not None, "while the error, and with it the frame, is still kept"


def test_a_worker_that_vanishes_is_reported(tmp_path: Path) -> None:
    vanishing = replace(one("mean"), task=Vanishing())
    with pytest.raises(UserError, match="fewer --workers"):
        run_jobs([vanishing], RunStore(tmp_path), Processes(2))
