"""Rows of `gmpool bench stacked`, on a small set."""

from __future__ import annotations

import pytest
import torch
from marks import DEVICES
from small_sets import dataset

from benchmarks import stacked
from benchmarks.stacked import epoch_of, full, growth, rounded, runs_of, side_by_side
from gmpool.engine.stack.stack import Stack


def test_runs_are_all_folds_of_each_seed() -> None:
    runs = runs_of(dataset(), seeds=2, epochs=7, patience=None)
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


def test_an_epoch_takes_every_step() -> None:
    data = dataset()
    stack = Stack(data.graphs, runs_of(data, batch_size=4)[:2], "accuracy")
    taken = []
    stack.program.steps = [lambda: taken.append("whole"), lambda: taken.append("last")]
    stack.program.evaluate = lambda: taken.append("evaluate")
    epoch_of(stack)()
    assert taken == ["whole"] * (stack.steps - 1) + ["last", "evaluate"]


def test_rounding_is_set_back() -> None:
    before = torch.backends.cuda.matmul.allow_tf32
    with rounded(not before):
        assert torch.backends.cuda.matmul.allow_tf32 is not before
    assert torch.backends.cuda.matmul.allow_tf32 is before
