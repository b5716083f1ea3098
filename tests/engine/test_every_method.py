"""Every method trains one fold of two real sets: molecules with labels, networks without."""

from __future__ import annotations

from pathlib import Path

import pytest

from gmpool.data import load
from gmpool.engine.cross_validate import Job, cross_validate
from gmpool.engine.store import RunStore
from gmpool.pool import METHODS

pytestmark = pytest.mark.data
SHORT = {"epochs": 4, "warmup_epochs": 1, "hidden_dim": 32}


@pytest.mark.parametrize("name", ["MUTAG", "IMDB-BINARY"])
@pytest.mark.parametrize("method", METHODS)
def test_one_fold(method: str, name: str, data_root: Path, tmp_path: Path) -> None:
    dataset = load(name, data_root)
    kernel = METHODS[method].architecture == "kernel"
    job = Job.make(dataset, method, folds=1, seeds=1, options={} if kernel else SHORT)
    (row,) = cross_validate(job, RunStore(tmp_path))
    assert row["metric"] == "accuracy"
    assert 0 <= row["test"] <= 100
    assert row["parameters"] > 0
    if not kernel:
        losses = row["curve"]["train_loss"]
        assert len(losses) == 4
        assert losses[3] < losses[0] + 0.02
