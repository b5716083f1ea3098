"""Runs in processes of their own: the same rows, failures that come through, nobody left behind."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest
from small_sets import dataset

from gmpool.cli.arguments import workers_wanted
from gmpool.config import RunSpec
from gmpool.engine.cross_validate import Job, cross_validate
from gmpool.engine.executors.processes import in_processes, usable_cores
from gmpool.engine.jobs import run_jobs
from gmpool.engine.store import RunStore
from gmpool.errors import UserError

SHORT = {"epochs": 3, "batch_size": 4, "hidden_dim": 8}


def job(method: str = "gmt", **options: Any) -> Job:
    chosen = {} if method == "wl-svm" else {**SHORT, **options}
    return Job.make(dataset(), method, folds=2, seeds=1, options=chosen)


class Vanishing(Job):
    """Its process ends as if it had been killed."""

    def train_alone(self, *_: Any) -> Any:
        os._exit(1)


def test_the_rows_are_those_of_runs_alone(tmp_path: Path) -> None:
    """To the last bit, since conftest.py gives this process one thread, too."""
    jobs, failed = [job(), job("mean", lr=1e30), job("wl-svm")], []

    def on_failure(job: Job, spec: RunSpec, error: UserError) -> None:
        failed.append((job.model.method, spec.fold, type(error)))

    found = run_jobs(jobs, RunStore(tmp_path / "w"), workers=2, on_failure=on_failure)
    alone = run_jobs(jobs[:1] + jobs[2:], RunStore(tmp_path / "a"))
    assert sorted(failed) == [("mean", 1, UserError), ("mean", 2, UserError)]
    for a, b in zip(found, alone, strict=True):
        assert {**a, "seconds": 0} == {**b, "seconds": 0}
    assert multiprocessing.active_children() == []


def test_where_no_process_can_be_forked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    (row, _) = run_jobs([job()], RunStore(tmp_path / "w"), workers=2)
    (alone, _) = run_jobs([job()], RunStore(tmp_path / "a"))
    assert {**row, "seconds": 0} == {**alone, "seconds": 0}


def test_weights_come_back(tmp_path: Path) -> None:
    rows = cross_validate(job(), RunStore(tmp_path), workers=2, save_to=tmp_path / "model")
    assert len(rows) == 2
    assert (tmp_path / "model").exists()


def test_many_sets_at_a_time() -> None:
    """Passed on as open files, their tensors would be too many for a new process."""
    jobs = [Job.make(dataset(), "mean", folds=2, seeds=1, options=SHORT) for _ in range(64)]
    asked = [(jobs[0], jobs[0].specs()), *((job, []) for job in jobs[1:])]
    assert len(list(in_processes(asked, 2))) == 2


def test_who_stops_looking_stops_the_workers() -> None:
    long = job("mean", epochs=100_000, patience=None)
    short = job("mean")
    done = in_processes([(short, short.specs()[:1]), (long, long.specs())], 3)
    first, _, _ = next(done)
    assert first is short
    done.close()
    for child in multiprocessing.active_children():
        child.join(timeout=10)
    assert multiprocessing.active_children() == []


def test_an_error_that_is_raised_stops_the_workers(tmp_path: Path) -> None:
    """Else whoever caught it would wait for all other runs at its own end."""
    wild, long = job("mean", lr=1e30), job("mean", epochs=100_000, patience=None)
    with pytest.raises(UserError) as raised:
        run_jobs([wild, long], RunStore(tmp_path), workers=2)
    for child in multiprocessing.active_children():
        child.join(timeout=10)
    assert multiprocessing.active_children() == []
    assert raised.tb is not None, "while the error, and with it the frame, is still kept"


def test_a_worker_that_vanishes_is_reported(tmp_path: Path) -> None:
    vanishing = Vanishing(**vars(job("mean")))
    with pytest.raises(UserError, match="fewer --workers"):
        run_jobs([vanishing], RunStore(tmp_path), workers=2)


@pytest.mark.parametrize(
    ("given", "device", "replicas", "said"),
    [
        ("2", "cuda", None, "for the CPU; this runs on cuda"),
        ("2", "cpu", "auto", "take one"),
        ("0", "cpu", None, "from 1 on, got '0'"),
        ("many", "cpu", None, "auto or a number"),
    ],
)
def test_what_cannot_be_is_refused(
    given: str, device: str, replicas: str | None, said: str
) -> None:
    with pytest.raises(UserError, match=said):
        workers_wanted(given, device, replicas)


def test_how_many() -> None:
    assert workers_wanted(None, "cuda", "auto") == 1
    assert workers_wanted("3", "cpu", None) == 3
    assert workers_wanted("auto", "cpu", None) == usable_cores() >= 1
