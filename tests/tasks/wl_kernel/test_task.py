"""The kernel stands beside the networks: its rows are those of any method."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from small_jobs import job
from small_sets import classes, split, with_labels

from gmpool.data import Dataset, Split
from gmpool.data.splits import random_split
from gmpool.engine.executors.alone import Alone
from gmpool.engine.job import Job
from gmpool.engine.run_jobs import run_jobs
from gmpool.engine.store import RunStore
from gmpool.errors import UserError
from gmpool.tasks.task import TASKS, task_of


def kernel(data: Dataset | None = None, **options: object) -> Job:
    return job("wl-svm", data, folds=1, seeds=1, **options)


def test_rows_are_those_of_any_method_and_are_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RunStore(tmp_path)
    (row,) = run_jobs([kernel()], store, Alone("cuda"))  # computed on the CPU whatever is asked
    assert (row.task, row.epochs, row.best_epoch, row.method) == ("classify", 0, 0, "wl-svm")
    assert row.curve == {"train_loss": [], "valid_loss": [], "valid_metric": []}
    assert row.parameters > 0
    assert "thread" in row.device
    assert row.precision == "float32"
    json.dumps(row.to_json(), allow_nan=False)
    again = "gmpool.tasks.wl_kernel.task.fit_kernel"
    monkeypatch.setattr(again, lambda *_, **__: pytest.fail("done again"))
    assert run_jobs([kernel()], store, Alone()) == [row]
    rows = [row, *run_jobs([job("mean", folds=1, seeds=1)], store, Alone())]
    (grid,) = TASKS["classify"].summary(rows)
    assert "wl-svm" in json.dumps(list(grid.records))


@pytest.mark.parametrize("parts", ["labels", "graphs"])
def test_undefined_scores(tmp_path: Path, parts: str) -> None:
    labels, part = torch.tensor([[0.0], [1.0]] * 12), random_split(24, seed=1)
    if parts == "labels":
        labels[part.test] = labels[part.valid] = math.nan
    else:
        part = Split(part.train, part.valid, part.test[:0])
    data = Dataset("shapes", with_labels(labels, "binary"), (part,), "roc_auc")
    (row,) = run_jobs([kernel(data)], RunStore(tmp_path), Alone())
    assert row.test is None
    assert (row.valid is None) == (parts == "labels")
    json.dumps(row.to_json(), allow_nan=False)


def test_options() -> None:
    assert task_of("classify", "wl-svm") is TASKS["wl-kernel"]
    assert task_of("classify", "gmt") is TASKS["classify"]
    defaults = {name: o.default for name, o in TASKS["wl-kernel"].options("wl-svm").items()}
    assert defaults == {"iterations": 5, "normalise": True}
    assert kernel(iterations=2, normalise=False).model.pool == {"iterations": 2, "normalise": False}
    for key in ("lr", "hidden_dim", "epochs"):
        with pytest.raises(UserError, match=f"{key} is for networks, and wl-svm is none: it takes"):
            kernel(**{key: 1})
    with pytest.raises(UserError, match="unknown option 'iteration'; did you mean 'iterations'"):
        kernel(iteration=1)


def test_it_chooses_by_a_validation_part(tmp_path: Path) -> None:
    parts = Split(split().train, split().valid[:0], split().test)
    data = Dataset("shapes", classes(), (parts,), "accuracy")
    with pytest.raises(UserError, match="the valid part of the split of shapes is empty"):
        run_jobs([kernel(data)], RunStore(tmp_path), Alone())


@pytest.mark.data
def test_on_the_command_line(
    gmpool_cli: Callable[..., Any], data_root: Path, tmp_path: Path
) -> None:
    words = ("train", "MUTAG", "-m", "wl-svm", "--folds", 2, "--data", data_root, "--json")
    said = gmpool_cli(*words, "--store", tmp_path, "--out", tmp_path / "report.md")
    assert said.code == 0, said.err
    (result,) = json.loads(said.out)
    assert result["test_mean"] > 75
    assert "wl-svm" in (tmp_path / "report.md").read_text()
