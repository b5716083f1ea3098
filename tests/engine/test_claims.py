"""Two processes on one store share its runs, and what one leaves the other does."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from small_jobs import Log, job

from gmpool.engine.claims import Claims
from gmpool.engine.executors.executor import Alone, Executor
from gmpool.engine.executors.stacked import Stacked
from gmpool.engine.run_jobs import run_jobs, run_plan
from gmpool.engine.store import RunStore
from gmpool.errors import StoreError


def forked(do: Callable[[], object]) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            do()
        finally:
            os._exit(0)
    return pid


@pytest.mark.parametrize("executor", [Alone(), Stacked(replicas=2)], ids=str)
def test_two_processes_do_each_run_once(tmp_path: Path, executor: Executor) -> None:
    todo = [job("mean", folds=3, seeds=4)]
    other = forked(lambda: run_jobs(todo, RunStore(tmp_path), executor))
    log = Log()
    rows = run_jobs(todo, RunStore(tmp_path), executor, watcher=log)
    os.waitpid(other, 0)
    assert [row.key for row in rows] == [run.key for run in todo[0].runs]
    assert len(list(RunStore(tmp_path))) == 12, "and none twice"
    assert len(log.runs) == 12, "those of the other are told as well"
    assert {reused for *_, reused in log.runs} == {True, False}
    assert os.listdir(tmp_path) == ["rows.jsonl"]


def test_what_a_living_process_has_is_waited_for_and_then_taken_over(tmp_path: Path) -> None:
    todo, log = [job("mean", folds=2, seeds=1)], Log()
    first, second = todo[0].runs
    read, write = os.pipe()

    def hold() -> None:
        Claims(tmp_path).take(first.key)
        os.write(write, b"1")
        time.sleep(60)

    other = forked(hold)
    os.read(read, 1)

    def end() -> None:
        while second.key not in RunStore(tmp_path).finished():
            time.sleep(0.01)
        time.sleep(0.3)
        assert first.key not in RunStore(tmp_path).finished()
        os.kill(other, 9)

    killer = threading.Thread(target=end)
    killer.start()
    assert run_plan(todo, RunStore(tmp_path), Alone(), watcher=log) == []
    killer.join()
    os.waitpid(other, 0)
    assert [fold for _, _, fold, _ in log.runs] == [2, 1]
    assert log.notes == ["another process is at work on the 1 run(s) that are left"]


def test_a_store_that_cannot_be_written_is_an_error_before_training(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    log = Log()
    with pytest.raises(StoreError, match=r"runs cannot be written.*--store"):
        run_jobs([job("mean")], RunStore(tmp_path / "runs"), Alone(), watcher=log)
    assert log.epochs == []


def test_signs_of_life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gmpool.engine.claims.BEAT", 0.02)
    with Claims(tmp_path) as claims:
        claims.take("a")
        os.utime(tmp_path / ".claims" / "a", (1, 1))
        limit = time.monotonic() + 10
        while (tmp_path / ".claims" / "a").stat().st_mtime < 2:
            assert time.monotonic() < limit
            time.sleep(0.01)
    assert not (tmp_path / ".claims").exists()
