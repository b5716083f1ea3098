from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from report_rows import row as any_row

from gmpool.config import TrainConfig
from gmpool.data import card
from gmpool.engine.expected import Expected, expected
from gmpool.engine.job import Job, Recorded
from gmpool.record import Row
from gmpool.tasks.task import TASKS

HERE = "a CPU"
CLASSIFY = TASKS["classify"]


def planned(dataset: str = "MUTAG", *, seeds: int = 2, folds: int | None = None) -> Job:
    return Job.planned(CLASSIFY, card(dataset), "gmt", {"epochs": 100}, seeds, 42, folds)


JOB = planned()


def row(job: Job = JOB, *, seed: int = 42, fold: int = 1, **values: Any) -> Row:
    """As if a run of the job had been recorded; one that is not of it has a key of its own."""
    keys = {(run.seed, run.fold): run.key for run in job.runs}
    given = {
        "key": keys.get((seed, fold), f"none {seed} {fold}"),
        "dataset": job.name,
        "config": job.config,
        "seconds": 8.0,
        "device": HERE,
        **values,
    }
    if {"method", "task", "dataset"} & values.keys():
        given["key"] = f"other {values}"
    return any_row(seed=seed, fold=fold, **given)


def of(*rows: Row, job: Job = JOB) -> Expected:
    (found,) = expected([job], Recorded(rows), HERE)
    assert found.to_do + found.recorded == len(job.runs)
    return found


def test_nothing_recorded() -> None:
    found = of()
    assert (found.recorded, found.to_do, found.seconds, found.rough) == (0, 20, None, False)


def test_runs_with_the_same_settings() -> None:
    found = of(row(), row(fold=2, seconds=12.0), row(seed=99, seconds=13.0))
    assert (found.recorded, found.to_do) == (2, 18)
    assert (found.seconds, found.rough) == (18 * 11.0, False)


def test_runs_that_are_done_at_a_time_share_it() -> None:
    (found,) = expected([JOB], Recorded([row()]), HERE, workers=4)
    assert found.seconds == 19 * 8.0 / 4
    (few,) = expected([planned(seeds=1, folds=2)], Recorded([row()]), HERE, workers=4)
    assert few.seconds == 8.0


def test_another_device_says_nothing_of_time() -> None:
    found = of(row(device="a GPU"))
    assert (found.recorded, found.seconds) == (1, None)
    assert of(row(device="a GPU"), row(fold=2)).seconds == 18 * 8.0


def test_another_method_or_task_says_nothing() -> None:
    assert of(row(method="mean")).seconds is None
    assert of(row(task="cluster")).seconds is None


def test_runs_with_other_settings_on_the_set_are_scaled_by_epochs() -> None:
    shorter = replace(JOB, train=TrainConfig(epochs=10))
    found = of(row(shorter))
    assert (found.recorded, found.seconds, found.rough) == (0, pytest.approx(20 * 80.0), True)


def test_runs_on_other_sets_are_scaled_by_nodes() -> None:
    elsewhere = planned("IMDB-BINARY")
    found = of(row(elsewhere), row(dataset="a set of somebody's"))
    assert found.seconds == pytest.approx(20 * 8.0 * (188 * 17.93) / (1000 * 19.77), rel=1e-3)
    assert (found.recorded, found.rough) == (0, True)
    assert of(row(elsewhere), row(seconds=3.0)).seconds == 19 * 3.0, "the set itself tells more"


def test_nothing_left_takes_no_time() -> None:
    found = of(row(device="a GPU"), job=planned(seeds=1, folds=1))
    assert (found.recorded, found.to_do, found.seconds, found.rough) == (1, 0, 0.0, False)


def test_as_json() -> None:
    assert of(row()).to_json() == {
        "line": "gmt", "method": "gmt", "dataset": "MUTAG", "runs": 20, "recorded": 1, "to_do": 19,
        "expected_seconds": 19 * 8.0,
    }  # fmt: skip
