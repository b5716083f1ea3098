"""Jobs through the store: what is recorded is not done again, and what fails does not stop others.

How runs are done is tested with the executors.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from own_set import write_set
from small_graphs import atoms, points
from small_jobs import Log, job
from small_sets import OPTIONS

from gmpool.data import Dataset
from gmpool.engine.executors.executor import Alone, Executor
from gmpool.engine.executors.stacked import Stacked
from gmpool.engine.job import Job
from gmpool.engine.plan import read_plan
from gmpool.engine.run_jobs import Failure, run_jobs, run_plan
from gmpool.engine.store import RunStore
from gmpool.errors import UserError


def test_seed_by_seed_and_every_row_recorded(tmp_path: Path) -> None:
    log, store = Log(), RunStore(tmp_path)
    rows = run_jobs([job()], store, Alone(), watcher=log)
    assert log.runs == [("gmt", s, f, False) for s in (42, 43) for f in (1, 2)]
    assert log.epochs == [1, 2, 3] * 4
    assert list(store) == rows


@pytest.mark.parametrize("executor", [Alone(), Stacked(), Stacked(replicas=2)], ids=str)
def test_what_is_recorded_is_not_done_again(tmp_path: Path, executor: Executor) -> None:
    store = RunStore(tmp_path)
    first = run_jobs([job(folds=1)], store, executor)
    before = store.path.read_bytes()
    log = Log()
    rows = run_jobs([job(folds=2)], store, executor, watcher=log)
    assert log.runs[:2] == [("gmt", 42, 1, True), ("gmt", 43, 1, True)]
    assert sorted(log.runs[2:]) == [("gmt", 42, 2, False), ("gmt", 43, 2, False)]
    assert [rows[0], rows[2]] == first
    assert store.path.read_bytes().startswith(before)
    assert run_jobs([job(folds=2)], store, executor) == rows
    assert len(list(store)) == 4


def test_another_option_is_another_run(tmp_path: Path) -> None:
    store, log = RunStore(tmp_path), Log()
    run_jobs([job(folds=1, seeds=1)], store, Alone())
    run_jobs([job(folds=1, seeds=1, num_heads=1)], store, Alone(), watcher=log)
    assert log.runs == [("gmt", 42, 1, False)]


def reconstruction(method: str, graphs: Any, **options: Any) -> Job:
    chosen = {"epochs": 3, "hidden_dim": 8, "batch_size": 8, **options}
    return Job.make("reconstruct", Dataset("small", graphs, (), None), method, options=chosen)


@pytest.mark.parametrize("executor", [Alone(), Stacked()], ids=str)
def test_a_failure_does_not_stop_the_others(tmp_path: Path, executor: Executor) -> None:
    bad, good = (reconstruction("gmt", points(), lr=1e30), reconstruction("mincut", points()))
    failures: list[Failure] = []
    rows = run_jobs([bad, good], RunStore(tmp_path), executor, failures=failures)
    assert [row.method for row in rows] == ["mincut"]
    assert [(failure.job, failure.runs, failure.first) for failure in failures] == [
        (bad, 1, bad.runs[0])
    ]
    assert "gmt 25% min x on small, 1 of 1 run(s), the first with seed 42 fold 1" in str(*failures)
    with pytest.raises(UserError, match="try a smaller lr"):
        run_jobs([bad], RunStore(tmp_path), executor)


class Strict(type(job().task)):  # type: ignore[misc]
    """Has something against its finished runs."""

    def finish(self, *_: Any) -> dict[str, Any]:
        raise UserError("not good enough")


@pytest.mark.parametrize("executor", [Alone(), Stacked()], ids=str)
def test_what_a_task_has_against_a_finished_run_is_a_failure(
    tmp_path: Path, executor: Executor
) -> None:
    strict, failures = replace(job(), task=Strict()), list[Failure]()
    assert run_jobs([strict], RunStore(tmp_path), executor, failures=failures) == []
    assert [(failure.runs, str(failure.error)) for failure in failures] == [(4, "not good enough")]
    assert list(RunStore(tmp_path)) == []


QUICK = "[options]\n" + "".join(f"{key} = {value}\n" for key, value in OPTIONS.items())


def test_a_plan_opens_each_set_once_and_goes_on_without_those_it_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_set(tmp_path / "own")
    text = f'datasets = ["own", "MUTAG"]\nmethods = ["mean", "gin"]\nfolds = 2\n{QUICK}'
    (tmp_path / "p.toml").write_text(text)
    jobs = read_plan(tmp_path / "p.toml").jobs()
    opened: list[str] = []

    def cannot(self: Any, source: str, *_: Any, **__: Any) -> None:
        opened.append(source)
        raise UserError("not at hand")

    monkeypatch.setattr(type(jobs[0].task), "open", cannot)
    begun: list[tuple[str, str]] = []
    store = RunStore(tmp_path / "runs")
    failures = run_plan(
        jobs, store, Alone(), on_job=lambda job: begun.append((job.label, job.name))
    )
    assert opened == ["MUTAG"]
    assert begun == [("mean", "SHAPES"), ("gin", "SHAPES")]
    assert [(f.job.label, f.job.name, f.runs, f.first) for f in failures] == [
        ("mean", "MUTAG", 2, None), ("gin", "MUTAG", 2, None)
    ]  # fmt: skip
    assert "mean on MUTAG, 2 of 2 run(s): not at hand" in str(failures[0])
    assert [(row.method, row.dataset, row.fold) for row in store] == [
        ("mean", "SHAPES", 1), ("mean", "SHAPES", 2), ("gin", "SHAPES", 1), ("gin", "SHAPES", 2)
    ]  # fmt: skip
    assert [run.key for job in jobs if job.dataset for run in job.runs] == [r.key for r in store]


def test_jobs_of_one_program_are_given_together(tmp_path: Path) -> None:
    """A classification by itself; reconstructions of one method and set together."""
    together: list[list[str]] = []

    class Spy(Stacked):
        def run(self, work: Any, *rest: Any) -> Any:
            together.append([job.label for job, _ in work])
            return super().run(work, *rest)

    lines = [reconstruction("gmt", atoms(), ratio=ratio) for ratio in (0.2, 0.5)]
    jobs = [*lines, reconstruction("random", atoms()), job("mean"), job("mean", lr=0.1)]
    assert run_plan(jobs, RunStore(tmp_path), Spy()) == []
    assert together == [
        ["gmt 20% min x", "gmt 50% min x"], ["random 25% min x"], ["mean"], ["mean"]
    ]  # fmt: skip
    together.clear()
    assert run_plan(jobs, RunStore(tmp_path / "joined"), Spy(side_by_side=2)) == []
    assert [len(each) for each in together] == [3, 2]
