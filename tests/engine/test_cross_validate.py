from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest
import torch
from small_sets import OPTIONS, dataset, with_labels

from gmpool.config import RunSpec
from gmpool.data import Dataset, generate
from gmpool.data.splits import random_split
from gmpool.engine.checkpoint import load_model
from gmpool.engine.cross_validate import Job, cross_validate
from gmpool.engine.store import Row, RunStore
from gmpool.engine.train import Epoch
from gmpool.errors import UserError


class Log:
    """A watcher that writes down what it is told."""

    def __init__(self) -> None:
        self.epochs: list[int] = []
        self.runs: list[tuple[int, int, bool]] = []

    def run_started(self, spec: RunSpec):
        def on_epoch(epoch: Epoch) -> None:
            self.epochs.append(epoch.epoch)

        return on_epoch

    def run_finished(self, spec: RunSpec, row: Row, *, reused: bool) -> None:
        assert spec.key == row["key"]
        self.runs.append((spec.seed, spec.fold, reused))


def job(folds: int = 2, seeds: int = 2, data: Dataset | None = None, **options: object) -> Job:
    chosen = {**OPTIONS, **options}
    return Job.make(data or dataset(), "gmt", folds=folds, seeds=seeds, options=chosen)


def test_seed_by_seed_and_every_row_recorded(tmp_path: Path) -> None:
    log, store = Log(), RunStore(tmp_path)
    rows = cross_validate(job(), store, watcher=log)
    assert log.runs == [(42, 1, False), (42, 2, False), (43, 1, False), (43, 2, False)]
    assert log.epochs == [1, 2, 3] * 4
    assert list(store) == rows
    for row in rows:
        assert (row["dataset"], row["method"], row["metric"]) == ("shapes", "gmt", "accuracy")
        assert row["config"]["train"]["epochs"] == row["epochs"] == len(row["curve"]["valid_loss"])
        assert row["versions"]["torch"] == version("torch")
        assert row["device"].endswith("1 thread")  # as conftest.py sets it
        assert 0 <= row["test"] <= 100
        json.dumps(row, allow_nan=False)


def test_what_is_recorded_is_not_done_again(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    first = cross_validate(job(folds=1), store)
    before = store.path.read_bytes()
    log = Log()
    rows = cross_validate(job(folds=2), store, watcher=log)
    assert log.runs == [(42, 1, True), (43, 1, True), (42, 2, False), (43, 2, False)]
    assert [rows[0], rows[2]] == first
    assert store.path.read_bytes().startswith(before)
    assert cross_validate(job(folds=2), store) == rows
    assert len(list(store)) == 4


def test_another_option_is_another_run(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    cross_validate(job(1, 1), store)
    log = Log()
    cross_validate(job(1, 1, num_heads=1), store, watcher=log)
    assert log.runs == [(42, 1, False)]


def test_the_kept_model_is_the_one_with_the_best_validation(tmp_path: Path) -> None:
    rows = cross_validate(job(3, 2), RunStore(tmp_path / "runs"), save_to=tmp_path / "model")
    best = max(rows, key=lambda row: row["selection_score"])
    assert best["selection_score"] == -min(row["valid_loss"] for row in rows)
    _, description = load_model(tmp_path / "model")
    about = description["about"]
    assert (about["seed"], about["fold"], about["test"]) == (
        best["seed"], best["fold"], best["test"],
    )  # fmt: skip


def test_a_model_can_be_kept_after_its_run_was_recorded(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs")
    (row,) = cross_validate(job(1, 1), store)
    (again,) = cross_validate(job(1, 1), store, save_to=tmp_path / "model")
    assert {**again, "seconds": 0} == {**row, "seconds": 0}
    assert len(list(store)) == 1
    assert load_model(tmp_path / "model")[1]["about"]["key"] == row["key"]


@pytest.mark.parametrize(
    ("metric", "task", "sign"), [("rmse", "regression", -1), ("roc_auc", "binary", 1)]
)
def test_selection_by_metric_knows_which_way_is_better(
    metric: str, task: str, sign: int, tmp_path: Path
) -> None:
    labels = torch.tensor([[0.0], [1.0]] * 12)
    data = Dataset("shapes", with_labels(labels, task), (random_split(24, seed=1),), metric)
    row = cross_validate(job(1, 1, data, select_by="metric"), RunStore(tmp_path))[0]
    assert row["selection_score"] == sign * row["valid"]


def test_an_undefined_score_is_null_in_the_store(tmp_path: Path) -> None:
    labels = torch.tensor([[0.0], [1.0]] * 12)
    split = random_split(24)
    labels[split.test] = math.nan
    data = Dataset("shapes", with_labels(labels, "binary"), (split,), "roc_auc")
    (row,) = cross_validate(job(1, 1, data), RunStore(tmp_path))
    assert row["test"] is None
    assert next(iter(RunStore(tmp_path)))["test"] is None


@pytest.mark.parametrize("folds", [0, 4, -1])
def test_folds_out_of_range(folds: int) -> None:
    with pytest.raises(UserError, match=rf"shapes has 3 fold\(s\).*1 … 3, got {folds}"):
        job(folds)


def test_no_seed() -> None:
    with pytest.raises(UserError, match="seeds must be at least 1, got 0"):
        job(seeds=0)


def test_a_set_without_folds_says_what_it_lacks() -> None:
    with pytest.raises(UserError, match=r"no folds to train on: it needs labels and at least 3"):
        job(data=replace(dataset(), folds=(), metric=None))


def test_an_unknown_option_and_an_unknown_method() -> None:
    with pytest.raises(UserError, match="unknown option 'hidden'; did you mean 'hidden_dim'"):
        job(hidden=8)
    with pytest.raises(UserError, match="unknown method 'gtm'; did you mean 'gmt'"):
        Job.make(dataset(), "gtm", folds=1, seeds=1)


def test_a_set_without_labels_is_not_trained_on() -> None:
    with pytest.raises(
        UserError, match=r"ring has no labels to train on; .* gmpool reconstruct ring"
    ):
        Job.make(generate("ring"), "gmt", folds=1, seeds=1)
