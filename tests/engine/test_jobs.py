"""Jobs of several sets and methods through one store, in stacks that take turns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from small_sets import dataset

from gmpool.config import RunSpec
from gmpool.engine.cross_validate import Job
from gmpool.engine.jobs import run_jobs
from gmpool.engine.stack.stack import Run
from gmpool.engine.stack.turns import Stacking, train_together
from gmpool.engine.store import Row, RunStore
from gmpool.errors import UserError

SHORT = {"epochs": 3, "batch_size": 4, "hidden_dim": 8}


def jobs() -> list[Job]:
    wanted = [("gmt", {"num_heads": 2}), ("mean", {}), ("mean", {"lr": 1e30}), ("edgepool", {})]
    return [
        Job.make(dataset(), name, folds=2, seeds=1, options={**SHORT, **more})
        for name, more in wanted
    ]


def numbers(rows: list[Row]) -> list[tuple[object, ...]]:
    return [(r["key"], round(r["valid_loss"], 5), r["test"]) for r in rows]


@pytest.mark.parametrize("at_once", [1, 2, None])
def test_side_by_side_gives_what_each_gives_alone(tmp_path: Path, at_once: int | None) -> None:
    failed: list[tuple[Job, RunSpec, str]] = []
    todo = jobs()
    rows = run_jobs(
        todo,
        RunStore(tmp_path / "together"),
        replicas=2,
        at_once=at_once,
        on_failure=lambda job, spec, error: failed.append((job, spec, str(error))),
    )
    alone = [
        row
        for job in (todo[0], todo[1], todo[3])
        for row in run_jobs([job], RunStore(tmp_path / "alone"))
    ]
    assert numbers(rows) == numbers(alone)
    assert {id(job) for job, _, _ in failed} == {id(todo[2])}
    assert len(failed) == 2


def test_a_failure_nobody_wants_to_hear_of_is_raised(tmp_path: Path) -> None:
    with pytest.raises(UserError):
        run_jobs([jobs()[2]], RunStore(tmp_path), replicas=2)


def test_the_next_stack_is_made_when_one_has_ended() -> None:
    job, begun = jobs()[1], []

    def stackings() -> Iterator[Stacking]:
        for number in range(4):
            begun.append(number)
            runs = [Run(job.dataset.folds[0], job.model, job.train, 42 + number)]
            yield Stacking(job.dataset.graphs, runs, job.metric)

    for ended, (number, _, result) in enumerate(train_together(stackings(), at_once=2)):
        assert len(begun) <= ended + 2 + 1, "two at a time"
        assert number in begun
        assert not isinstance(result, UserError)
    assert begun == [0, 1, 2, 3]


def test_a_run_that_has_ended_does_not_wait_for_its_stack() -> None:
    job, epochs = jobs()[1], []
    configs = [replace(job.train, epochs=count) for count in (2, 60)]
    runs = [Run(job.dataset.folds[0], job.model, config, 42) for config in configs]
    stacking = Stacking(job.dataset.graphs, runs, job.metric, lambda e, _: epochs.append(e))
    ended = [(run, len(epochs)) for _, run, _ in train_together([stacking])]
    assert [run for run, _ in ended] == [0, 1]
    assert ended[0][1] < ended[1][1] == 60
