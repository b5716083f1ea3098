"""One run after the other."""

from __future__ import annotations

from small_jobs import Log, job

from gmpool.engine.executors.executor import Alone, Done, Work
from gmpool.errors import UserError


def test_runs_come_in_their_order_each_as_soon_as_it_is_done() -> None:
    log, first, wild = Log(), job("mean"), job("mean", lr=1e30)
    outcomes = Alone().run([Work(first, first.runs[:2]), Work(wild, wild.runs[:1])], log)
    one, run, done = next(outcomes)
    assert (one, run) == (first, first.runs[0])
    assert isinstance(done, Done)
    assert done.row.key == run.key
    assert done.trained.replicas == 1
    assert log.epochs == [1, 2, 3], "the second has not begun"
    (_, run, second), (other, _, failed) = outcomes
    assert run == first.runs[1]
    assert isinstance(second, Done)
    assert other is wild
    assert isinstance(failed, UserError)
    assert "try a smaller lr" in str(failed)
