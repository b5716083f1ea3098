"""Many runs as one program give the rows that they give alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from small_graphs import atoms
from small_jobs import Log, job

from gmpool.data import Dataset
from gmpool.engine.executors import stacked as module
from gmpool.engine.executors.executor import Alone, Work
from gmpool.engine.executors.stacked import Stacked
from gmpool.engine.job import Job
from gmpool.engine.run_jobs import Failure, run_jobs
from gmpool.engine.store import RunStore
from gmpool.errors import UserError
from gmpool.record import Row


def jobs() -> list[Job]:
    wanted: list[tuple[str, dict[str, Any]]] = [
        ("gmt", {"num_heads": 2}), ("mean", {}), ("mean", {"lr": 1e30}), ("edgepool", {})
    ]  # fmt: skip
    return [job(name, seeds=1, batch_size=4, **more) for name, more in wanted]


def numbers(rows: list[Row]) -> list[tuple[object, ...]]:
    return [(row.key, round(row.valid_loss or 0, 5), row.test) for row in rows]


@pytest.mark.parametrize("side_by_side", [1, 2, 9, None])
def test_the_rows_are_those_of_runs_alone(tmp_path: Path, side_by_side: int | None) -> None:
    failures: list[Failure] = []
    todo = jobs()
    executor = Stacked(replicas=2, side_by_side=side_by_side)
    rows = run_jobs(todo, RunStore(tmp_path / "together"), executor, failures=failures)
    rest = [todo[0], todo[1], todo[3]]
    assert numbers(rows) == numbers(run_jobs(rest, RunStore(tmp_path / "alone"), Alone()))
    assert [row.replicas for row in rows] == [2, 2, 2, 2, 1, 1]
    assert [(failure.job, failure.runs) for failure in failures] == [(todo[2], 2)]


def test_a_failure_nobody_wants_to_hear_of_is_raised(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="try a smaller lr"):
        run_jobs([jobs()[2]], RunStore(tmp_path), Stacked(replicas=2))


def test_reconstructions_too(tmp_path: Path) -> None:
    data, options = Dataset("small", atoms(), (), None), {"epochs": 3, "hidden_dim": 8}
    todo = [
        Job.make("reconstruct", data, method, seeds=2, options={**options, "batch_size": 8})
        for method in ("gmt", "diffpool")
    ]
    alone = run_jobs(todo, RunStore(tmp_path / "alone"), Alone())
    stacked = run_jobs(todo, RunStore(tmp_path / "stacked"), Stacked())
    for a, b in zip(alone, stacked, strict=True):
        assert (a.key, a.replicas, b.replicas) == (b.key, 1, 2)
        assert a.more["scores"] == pytest.approx(b.more["scores"], rel=1e-3)


def test_stacks_hold_so_many_replicas() -> None:
    log, todo = Log(), job("mean", folds=3, seeds=2)
    outcomes = list(Stacked(replicas=4).run([Work(todo, todo.runs)], log))
    assert log.stacks == [4, 2]
    assert [run for _, run, _ in outcomes] == todo.runs
    assert log.epochs == [1, 2, 3] * 2


def test_methods_that_cannot_be_stacked_run_alone_and_say_so(tmp_path: Path) -> None:
    log = Log()
    todo = [job("structpool", hops=2), job("wl-svm", seeds=1)]
    rows = run_jobs(todo, RunStore(tmp_path), Stacked(), watcher=log)
    assert [row.replicas for row in rows] == [1] * 6
    assert log.notes == [
        "structpool on shapes runs one at a time: the shapes of structpool depend on the data",
        "wl-svm on shapes runs one at a time: wl-svm is no network",
    ]


def test_how_many_programs_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as are asked for; else on a CPU one, on a GPU what the task says."""
    told: list[tuple[str, int]] = []

    def spy(stackings: Any, *, device: str, at_once: int) -> Any:
        told.append((device, at_once))
        return iter(())

    monkeypatch.setattr(module, "train_together", spy)
    monkeypatch.setattr(module, "largest_stack", lambda *_, **__: 2)
    data = Dataset("small", atoms(), (), None)
    lines = [Job.make("reconstruct", data, "gmt", options={"ratio": r}) for r in (0.2, 0.5, 0.8)]
    for todo in (lines, [job("mean")]):
        work = [Work(one, one.runs) for one in todo]
        for executor in (Stacked(), Stacked("cuda"), Stacked("cuda", side_by_side=7)):
            assert list(executor.run(work, None)) == []
    assert told == [
        ("cpu", 1), ("cuda", 3), ("cuda", 7), ("cpu", 1), ("cuda", 1), ("cuda", 7)
    ]  # fmt: skip
