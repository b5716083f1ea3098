"""Rows of `gmpool bench stacked`, on a small set."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from marks import DEVICES
from small_sets import dataset

from benchmarks import stacked
from benchmarks.stacked import (
    SEEDS,
    epoch_of,
    full,
    growth,
    job_of,
    members_of,
    rounded,
    side_by_side,
)
from gmpool.data import CATALOGUE
from gmpool.engine.stack.stack import Stack


def test_runs_are_all_folds_of_each_seed() -> None:
    runs = members_of(job_of(dataset(), seeds=2, epochs=7, patience=None))
    assert [run.seed for run in runs] == [42, 42, 42, 43, 43, 43]
    assert {(run.train.epochs, run.train.patience) for run in runs} == {(7, None)}
    assert runs[0].split is runs[3].split
    assert runs[0].split is not runs[1].split


@pytest.mark.parametrize("device", DEVICES)
def test_both_sides_do_the_same(device: str) -> None:
    rows = side_by_side(dataset(), device, epochs=2, rounds=1)
    ours = ["stacked", "a process per core"] if device == "cpu" else ["stacked"]
    for row, name in zip(rows, ours, strict=True):
        assert row["ratio"] == row["peer"] / row["ours"]
        assert row["test"] == pytest.approx(row["peer_test"])
        assert row["precision"] == "float32"
        assert row["name"] == f"shapes, 3 folds of 2 epochs: {name} vs one after another"


@pytest.mark.parametrize("device", DEVICES)
def test_a_full_cross_validation_has_no_peer(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacked, "AUTHORS_SECONDS", {"shapes": 99})
    (row,) = full(dataset(), device, 2, epochs=2)
    assert row["peer"] is row["ratio"] is None
    assert row["ours"] > 0
    assert (row["authors_seconds"], row["replicas"], row["failed"], row["epochs"]) == (99, 6, 0, 12)


@pytest.mark.parametrize("device", DEVICES)
def test_growth_is_beside_a_replica_alone(device: str) -> None:
    alone, three = growth(dataset(), device, (1, 3), epochs=1)
    assert alone["peer"] is None
    assert three["peer"] == alone["ours"]
    assert three["ours"] == three["epoch_seconds"] / 3


def test_the_hundred_trainings_of_the_authors_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CATALOGUE, "MUTAG", replace(CATALOGUE["MUTAG"], content=""))
    job = job_of(replace(dataset(30, 10), name="MUTAG"), SEEDS)
    assert (len(job.runs), job.model.pool) == (100, {"num_heads": 4, "layer_norm": True})
    assert (job.train.epochs, job.train.patience, job.train.batch_size) == (500, 50, 128)


def test_an_epoch_takes_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    data = dataset()
    job, taken = job_of(data, batch_size=4), []
    stack = Stack(job.task, data, members_of(job)[:2], torch.device("cpu"))
    monkeypatch.setattr(stack.program, "step", lambda feed, phases: lambda: taken.append(feed))
    monkeypatch.setattr(stack.program, "evaluate", lambda: taken.append("evaluate"))
    epoch_of(stack)()
    assert taken == [0] * (int(stack.shuffles.steps.max()) - 1) + [1, "evaluate"]


def test_rounding_is_set_back() -> None:
    before = torch.backends.cuda.matmul.allow_tf32
    with rounded(not before):
        assert torch.backends.cuda.matmul.allow_tf32 is not before
    assert torch.backends.cuda.matmul.allow_tf32 is before
