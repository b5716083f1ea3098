"""The check of intervals and sets passes what is sound, and fails what is broken on purpose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from chains import CHAINS, chain_job, chain_set

from benchmarks import coverage
from benchmarks.coverage import COVERAGES, covered, summary
from gmpool.engine.ensembles import Ensembles, in_memory
from gmpool.engine.executors.executor import Alone, Done, Work
from gmpool.tasks.classify.ensemble import Ensemble, say


def ensemble(task: str) -> Ensemble:
    job = chain_job(task, members=2)
    ((_, _, done),) = Ensembles(Alone(), in_memory(Alone())).run([Work(job, job.runs)], None)
    assert isinstance(done, Done)
    assert isinstance(done.trained.model, Ensemble)
    return done.trained.model


def test_what_is_inside_is_counted() -> None:
    model, data = ensemble("regression"), chain_set()
    share, width = covered(model, data, 0.8)
    test = data.folds[0].test
    low, high = model.sure.intervals(say(model, data.graphs, test), 0.8)
    y = [float(len(CHAINS[i])) for i in test.tolist()]
    inside = [low[i, 0] <= truth <= high[i, 0] for i, truth in enumerate(y)]
    assert share == pytest.approx(np.mean(inside))
    assert width == pytest.approx((high - low).mean())
    model.sure.scores.fill_(1e6)
    assert covered(model, data, 0.8)[0] == 1.0
    model.sure.scores.fill_(1e-9)
    assert covered(model, data, 0.8)[0] == 0.0


def test_sets_of_classes_are_counted() -> None:
    model, data = ensemble("binary"), chain_set("binary")
    data = data if not torch.isnan(data.graphs.y).any() else _without_gaps(data)
    model.sure.scores.fill_(1.0)
    share, size = covered(model, data, 0.8)
    assert (share, size) == (1.0, 2.0)


def _without_gaps(data: Any) -> Any:
    data.graphs.y.nan_to_num_(0.0)
    return data


def rows(shift: float) -> list[dict[str, Any]]:
    return [
        {"table": name, "promised": each, "inside": each + off, "size": 1.0, "broken": broken}
        for name in coverage.TABLES
        for each in COVERAGES
        for broken in (False, True)
        for off in ((-0.2 if broken else shift),)
    ]


def test_the_summary_says_whether_all_are_near() -> None:
    table, near = summary(rows(0.015))
    assert near == {False: True, True: False}
    assert len(table.splitlines()) == 2 + len(coverage.TABLES) * len(COVERAGES)
    assert summary(rows(0.03))[1][False] is False


def test_parts_are_exchanged() -> None:
    data = chain_set()
    (before,), (after,) = data.folds, coverage.with_parts_exchanged(data).folds
    assert torch.equal(after.train, before.train)
    assert torch.equal(after.valid, before.test)
    assert torch.equal(after.test, before.valid)
