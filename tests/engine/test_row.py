"""What is recorded of a finished run."""

from __future__ import annotations

import json
import math
from importlib.metadata import version
from pathlib import Path

import pytest
import torch
from small_graphs import points
from small_jobs import job
from small_sets import classes, split, with_labels

from gmpool.data import Dataset, Split, with_splits
from gmpool.data.splits import random_split
from gmpool.engine import row as module
from gmpool.engine.executors.executor import Alone, Executor
from gmpool.engine.executors.stacked import Stacked
from gmpool.engine.job import Job
from gmpool.engine.provenance import source_digest
from gmpool.engine.run_jobs import run_jobs
from gmpool.engine.store import RunStore

EXECUTORS = pytest.mark.parametrize("executor", [Alone(), Stacked()], ids=str)


@EXECUTORS
def test_a_row_says_all_that_is_needed_later(tmp_path: Path, executor: Executor) -> None:
    todo = job()
    rows = run_jobs([todo], RunStore(tmp_path), executor)
    assert len(rows) == 4
    for row, run in zip(rows, todo.runs, strict=True):
        assert (row.key, row.seed, row.fold) == (run.key, run.seed, run.fold)
        assert (row.task, row.dataset, row.method, row.metric) == (
            "classify", "shapes", "gmt", "accuracy"
        )  # fmt: skip
        assert row.config == todo.config
        assert row.train["epochs"] == row.epochs == 3
        assert {len(values) for values in row.curve.values()} == {3}
        assert row.data_digest == todo.dataset.digest
        assert row.split_digest == todo.split(run).digest
        assert row.versions["torch"] == version("torch")
        assert row.source == source_digest()
        assert row.device.endswith("1 thread")  # as conftest.py sets it
        assert (row.precision, row.replicas) == (
            "float32", 4 if isinstance(executor, Stacked) else 1
        )  # fmt: skip
        assert 0 <= row.test <= 100
        assert row.parameters > 0
        json.dumps(row.to_json(), allow_nan=False)
    assert list(RunStore(tmp_path).finished().values()) == rows


@pytest.mark.parametrize(
    ("metric", "task", "sign"), [("rmse", "regression", -1), ("roc_auc", "binary", 1)]
)
def test_selection_by_metric_knows_which_way_is_better(
    metric: str, task: str, sign: int, tmp_path: Path
) -> None:
    labels = torch.tensor([[0.0], [1.0]] * 12)
    data = Dataset("shapes", with_labels(labels, task), (random_split(24, seed=1),), metric)
    todo = job(data=data, folds=1, seeds=1, select_by="metric")
    (row,) = run_jobs([todo], RunStore(tmp_path), Alone())
    assert row.metric == metric
    assert row.more["selection_score"] == sign * row.valid


@EXECUTORS
def test_an_undefined_score_is_null(tmp_path: Path, executor: Executor) -> None:
    labels, part = torch.tensor([[0.0], [1.0]] * 12), random_split(24)
    labels[part.test] = math.nan
    data = Dataset("shapes", with_labels(labels, "binary"), (part,), "roc_auc")
    (row,) = run_jobs([job(data=data, folds=1, seeds=1)], RunStore(tmp_path), executor)
    assert row.test is None
    assert next(iter(RunStore(tmp_path))).test is None


@EXECUTORS
@pytest.mark.parametrize(
    ("task", "metric"),
    [("multiclass", "accuracy"), ("binary", "roc_auc"), ("regression", "rmse")],
)
def test_each_label_column_is_scored_from_the_outputs_that_were_judged(
    task: str, metric: str, tmp_path: Path, executor: Executor
) -> None:
    y = torch.tensor([[0.0], [1.0]] * 12)
    graphs = classes() if task == "multiclass" else with_labels(y, task)
    data = Dataset("shapes", graphs, (split(), random_split(24, seed=1)), metric)
    rows = run_jobs([job(data=data, folds=2, seeds=2)], RunStore(tmp_path), executor)
    for row in rows:
        found = row.more["scores"]
        assert found["labels"] == ["y0"]
        assert found["test"]["count"] == [len(data.folds[row.fold - 1].test)]
        assert found["test"][metric][0] == pytest.approx(row.test, rel=1e-6)
        assert found["valid"][metric][0] == pytest.approx(row.valid, rel=1e-5)


@EXECUTORS
def test_targets_in_several_units_are_not_one_number_over_both(
    tmp_path: Path, executor: Executor
) -> None:
    """A column in grams and one in kilograms: each has its own scores, and what is selected by
    weighs them alike."""
    y = torch.rand(24, 2, generator=torch.Generator().manual_seed(1))
    y[20, 1] = math.nan
    part, units = split(), torch.tensor([1.0, 1024.0])
    data = Dataset.of(with_labels(y * units, "regression"), (part,))
    (row,) = run_jobs([job(data=data, folds=1, seeds=1)], RunStore(tmp_path), executor)
    scores = row.more["scores"]["test"]
    assert scores["count"] == [6, 5]
    deviations = (y * units)[part.train].std(0, correction=0)
    each = [rmse / std for rmse, std in zip(scores["rmse"], deviations.tolist(), strict=True)]
    assert row.metric == data.metric == "nrmse"
    assert row.test == pytest.approx(sum(each) / 2, rel=1e-5)
    assert all(math.isfinite(value) for name in ("mae", "r2") for value in scores[name])


@EXECUTORS
def test_one_class_only_is_a_reason_and_no_number(tmp_path: Path, executor: Executor) -> None:
    labels, part = torch.tensor([[0.0], [1.0]] * 12), split()
    labels[part.test] = 0.0
    data = Dataset("shapes", with_labels(labels, "binary"), (part,), "roc_auc")
    (row,) = run_jobs([job(data=data, folds=1, seeds=1)], RunStore(tmp_path), executor)
    assert row.test is None
    scores = row.more["scores"]
    assert scores["test"]["undefined"]["y0"]["roc_auc"] == "one class only in the test part"
    assert scores["valid"]["roc_auc"] == [pytest.approx(row.valid)]


@EXECUTORS
@pytest.mark.parametrize("without", ["valid", "test"])
def test_a_part_that_is_not_there_has_no_score(
    without: str, tmp_path: Path, executor: Executor
) -> None:
    parts = {"train": split().train, "valid": split().valid, "test": split().test}
    part = Split(**{**parts, without: parts[without][:0]})
    data = Dataset("shapes", classes(), (part,), "accuracy")
    (row,) = run_jobs([job(data=data, folds=1, seeds=1)], RunStore(tmp_path), executor)
    assert without not in row.more["scores"]
    scores = {"valid": row.valid, "test": row.test}
    assert scores.pop(without) is None
    assert None not in scores.values()
    if without == "valid":
        assert row.valid_loss is row.more["selection_score"] is None
        assert row.best_epoch == row.epochs == 3
        assert row.curve["valid_loss"] == [None] * 3
    assert list(RunStore(tmp_path)) == [row]


def test_a_row_says_how_its_split_was_made_and_nothing_of_one_that_was_given(
    tmp_path: Path,
) -> None:
    made = with_splits(Dataset.of(classes()), "stratified", folds=3, split_seed=2)
    (row,) = run_jobs([job(data=made, folds=1, seeds=1)], RunStore(tmp_path / "made"), Alone())
    assert row.more["split"] == {"kind": "stratified", "folds": 3, "repeats": 1, "seed": 2}
    assert list(RunStore(tmp_path / "made")) == [row]
    given = Dataset.of(classes(), (split(),))
    (row,) = run_jobs([job(data=given, folds=1, seeds=1)], RunStore(tmp_path / "given"), Alone())
    assert "split" not in row.more


def test_a_long_curve_is_thinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_POINTS", 4)
    options = {"epochs": 10, "hidden_dim": 8, "batch_size": 8}
    data = Dataset("small", points(), (), None)
    todo = Job.make("reconstruct", data, "gmt", options=options)
    (row,) = run_jobs([todo], RunStore(tmp_path), Alone())
    assert row.epochs == 10
    assert row.curve["every"] == 3
    assert len(row.curve["valid_loss"]) == 4
