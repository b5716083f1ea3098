"""The kernel stands beside the networks: its rows are those of any method."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from small_jobs import job
from small_sets import TEN_MOLECULES, classes, split, with_labels

from gmpool.data import Dataset, PackedGraphs, Split, from_smiles
from gmpool.data.splits import random_split
from gmpool.engine.executors.executor import Alone
from gmpool.engine.job import Job
from gmpool.engine.run_jobs import run_jobs
from gmpool.engine.store import RunStore
from gmpool.errors import UserError
from gmpool.tasks.task import TASKS, task_of
from gmpool.tasks.wl_kernel import task as module
from gmpool.tasks.wl_kernel.svm import WLSubtreeSVM
from gmpool.tasks.wl_kernel.task import fit_kernel


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
    grid, data, by_label, *own = TASKS["classify"].summary(rows)
    titles = [each.title for each in own]
    assert (data.title, titles[0]) == ("Data: shapes", "How sure it is")
    assert "Worst mistakes: wl-svm on shapes" in titles
    assert "wl-svm" in json.dumps(list(grid.records))
    assert row.more["scores"]["test"]["accuracy"] == [pytest.approx(row.test)]
    assert row.more["scores"]["test"]["undefined"]["y0"].keys() == {"roc_auc", "pr_auc"}
    assert any("roc_auc, pr_auc of y0 not defined" in note for note in by_label.notes)


def test_targets_in_several_units_have_one_score_without_a_unit(tmp_path: Path) -> None:
    """The same whatever unit a column is given in."""
    y, part = torch.rand(24, 2, generator=torch.Generator().manual_seed(0)), random_split(24)
    found = []
    for unit in (1.0, 1024.0):
        data = Dataset.of(with_labels(y * torch.tensor([1.0, unit]), "regression"), (part,))
        (row,) = run_jobs([kernel(data)], RunStore(tmp_path / str(unit)), Alone())
        found.append(row)
    assert {row.metric for row in found} == {"nrmse"}
    assert found[0].test == pytest.approx(found[1].test, rel=1e-4)
    small, large = (row.more["scores"]["test"]["rmse"] for row in found)
    assert [large[0] / small[0], large[1] / small[1]] == pytest.approx([1.0, 1024.0], rel=1e-4)


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


WL = WLSubtreeSVM()


def of_structure(graphs: PackedGraphs) -> PackedGraphs:
    """The same graphs with degrees for features: rings and paths are then easily told apart."""
    return replace(graphs, node_float=None).with_degree_features()


def test_tells_rings_from_paths() -> None:
    fitted = fit_kernel(of_structure(classes()), split(), WL, metric="accuracy")
    assert fitted.test_metric == fitted.valid_metric == 100.0
    assert fitted.valid_loss == 0.0
    assert fitted.model.iterations == 0, "of equal choices the first"


def test_memorises_ten_molecules() -> None:
    labels = torch.tensor([0, 1, 1, 0, 1, 0, 0, 1, 0, 1])
    graphs = from_smiles(TEN_MOLECULES, labels, task="multiclass")
    everything = torch.arange(10)
    whole = Split(everything, everything, everything)
    assert fit_kernel(graphs, whole, WL, metric="accuracy").test_metric == 100.0


def test_what_is_tested_is_chosen_without_the_test_part() -> None:
    graphs = of_structure(classes())
    labels = graphs.y.clone()
    labels[split().test] = 1 - labels[split().test]
    fitted = fit_kernel(replace(graphs, y=labels), split(), WL, metric="accuracy")
    assert fitted.valid_metric == 100.0
    assert fitted.test_metric == 0.0


@pytest.mark.parametrize(
    ("task", "metric"), [("binary", "roc_auc"), ("regression", "rmse"), ("binary", "accuracy")]
)
def test_label_columns(task: str, metric: str) -> None:
    size = of_structure(classes()).sizes.float()
    labels = torch.stack([size > 5, size > 4], 1).float() if task == "binary" else size[:, None]
    labels[3, 0] = math.nan
    by_size = WLSubtreeSVM(normalise=False)
    fitted = fit_kernel(of_structure(with_labels(labels, task)), split(), by_size, metric=metric)
    good = fitted.test_metric < 1 if metric == "rmse" else fitted.test_metric > 80
    assert good, fitted.test_metric
    wanted = fitted.valid_metric if metric == "rmse" else 1 - fitted.valid_metric / 100
    assert fitted.valid_loss == pytest.approx(wanted)


def test_too_many_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_GRAPHS", 20)
    with pytest.raises(UserError, match=r"shapes has 24: a matrix of \d+ GB. It takes up to 20"):
        fit_kernel(classes(), split(), WL, metric="accuracy")


@pytest.mark.parametrize("part", ["train", "valid"])
def test_an_empty_part_is_named(part: str) -> None:
    parts = {"train": split().train, "valid": split().valid, "test": split().test}
    parts[part] = torch.tensor([], dtype=torch.int64)
    with pytest.raises(UserError, match=f"the {part} part of the split of shapes is empty"):
        fit_kernel(classes(), Split(**parts), WL, metric="accuracy")


def test_without_a_test_part_there_is_no_test_score() -> None:
    graphs, parts = of_structure(classes()), split()
    fitted = fit_kernel(graphs, replace(parts, test=parts.test[:0]), WL, metric="accuracy")
    assert math.isnan(fitted.test_metric)
    assert fitted.valid_metric == 100.0
