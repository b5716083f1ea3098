from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from small_sets import OPTIONS, TEN_MOLECULES, classes, dataset, split, with_labels

from gmpool.config import ModelConfig
from gmpool.data import Dataset, PackedGraphs, Split
from gmpool.data.splits import random_split
from gmpool.engine.cross_validate import Job, cross_validate
from gmpool.engine.store import RunStore
from gmpool.errors import UserError
from gmpool.record import Row
from gmpool.report.page import write_report
from gmpool.report.summary import summarise, summary_grid
from gmpool.tasks.kernel import fit as kernel
from gmpool.tasks.kernel.fit import fit_kernel, is_kernel

WL = ModelConfig(method="wl-svm")


def job(data: Dataset | None = None, **options: object) -> Job:
    return Job.make(data or dataset(), "wl-svm", folds=1, seeds=1, options=options)


def of_structure(graphs: PackedGraphs) -> PackedGraphs:
    """The same graphs with degrees for features: rings and paths are then easily told apart."""
    return replace(graphs, node_float=None).with_degree_features()


def test_tells_rings_from_paths() -> None:
    fitted = fit_kernel(of_structure(classes()), split(), WL, metric="accuracy")
    assert fitted.test_metric == fitted.best.valid_metric == 100.0
    assert fitted.best.valid_loss == 0.0
    assert fitted.curve == []
    assert fitted.iterations == 0, "of equal choices the first"


def test_memorises_ten_molecules() -> None:
    labels = torch.tensor([0, 1, 1, 0, 1, 0, 0, 1, 0, 1])
    graphs = PackedGraphs.from_smiles(TEN_MOLECULES, labels, task="multiclass")
    everything = torch.arange(10)
    whole = Split(everything, everything, everything)
    assert fit_kernel(graphs, whole, WL, metric="accuracy").test_metric == 100.0


def test_what_is_tested_is_chosen_without_the_test_part() -> None:
    graphs = of_structure(classes())
    labels = graphs.y.clone()
    labels[split().test] = 1 - labels[split().test]
    fitted = fit_kernel(replace(graphs, y=labels), split(), WL, metric="accuracy")
    assert fitted.best.valid_metric == 100.0
    assert fitted.test_metric == 0.0


@pytest.mark.parametrize(
    ("task", "metric"), [("binary", "roc_auc"), ("regression", "rmse"), ("binary", "accuracy")]
)
def test_label_columns(task: str, metric: str) -> None:
    size = of_structure(classes()).sizes.float()
    labels = torch.stack([size > 5, size > 4], 1).float() if task == "binary" else size[:, None]
    labels[3, 0] = math.nan
    by_size = ModelConfig(method="wl-svm", pool={"normalise": False})
    fitted = fit_kernel(of_structure(with_labels(labels, task)), split(), by_size, metric=metric)
    good = fitted.test_metric < 1 if metric == "rmse" else fitted.test_metric > 80
    assert good, fitted.test_metric
    wanted = fitted.best.valid_metric if metric == "rmse" else 1 - fitted.best.valid_metric / 100
    assert fitted.best.valid_loss == pytest.approx(wanted)


def test_rows_are_those_of_any_method_and_are_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RunStore(tmp_path)
    (row,) = cross_validate(job(), store, device="cuda")  # computed on the CPU whatever is asked
    assert (row["epochs"], row["best_epoch"], row["method"]) == (0, 0, "wl-svm")
    assert row["curve"] == {"train_loss": [], "valid_loss": [], "valid_metric": []}
    assert row["parameters"] > 0
    assert "thread" in row["device"]
    json.dumps(row, allow_nan=False)
    again = "gmpool.engine.cross_validate.fit_kernel"
    monkeypatch.setattr(again, lambda *_, **__: pytest.fail("done again"))
    assert cross_validate(job(), store) == [row]
    other = Job.make(dataset(), "mean", folds=1, seeds=1, options=OPTIONS)
    for rows in ([row], [row, *cross_validate(other, store)]):
        grid = summary_grid(summarise(map(Row.from_json, rows)))
        write_report([grid], tmp_path / "report.html", title="", command="gmpool")
        assert "wl-svm" in (tmp_path / "report.html").read_text()


def test_undefined_scores(tmp_path: Path) -> None:
    labels = torch.tensor([[0.0], [1.0]] * 12)
    parts = random_split(24)
    labels[parts.test] = labels[parts.valid] = math.nan
    data = Dataset("shapes", with_labels(labels, "binary"), (parts,), "roc_auc")
    (row,) = cross_validate(job(data), RunStore(tmp_path))
    assert row["test"] is row["valid"] is None
    json.dumps(row, allow_nan=False)


def test_options() -> None:
    assert is_kernel("wl-svm")
    assert not is_kernel("gmt")
    assert job(iterations=2, normalise=False).model.pool == {"iterations": 2, "normalise": False}
    for key in ("lr", "hidden_dim", "epochs"):
        with pytest.raises(UserError, match=f"{key} is for networks, and wl-svm is none: it takes"):
            job(**{key: 1})
    with pytest.raises(UserError, match="unknown option 'iteration'; did you mean 'iterations'"):
        job(iteration=1)


def test_nothing_to_save(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="wl-svm has no weights to save"):
        cross_validate(job(), RunStore(tmp_path / "runs"), save_to=tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_too_many_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "MAX_GRAPHS", 20)
    with pytest.raises(UserError, match=r"shapes has 24: a matrix of \d+ GB. It takes up to 20"):
        fit_kernel(classes(), split(), WL, metric="accuracy")


@pytest.mark.parametrize("part", ["train", "valid", "test"])
def test_an_empty_part_is_named(part: str) -> None:
    parts = {"train": split().train, "valid": split().valid, "test": split().test}
    parts[part] = torch.tensor([], dtype=torch.int64)
    with pytest.raises(UserError, match=f"the {part} part of the split of shapes is empty"):
        fit_kernel(classes(), Split(**parts), WL, metric="accuracy")


@pytest.mark.data
def test_on_the_command_line(
    gmpool_cli: Callable[..., Any], data_root: Path, tmp_path: Path
) -> None:
    words = ("train", "MUTAG", "-m", "wl-svm", "--folds", 2, "--data", data_root, "--json")
    said = gmpool_cli(*words, "--store", tmp_path, "--report", tmp_path / "report.md")
    assert said.code == 0, said.err
    assert json.loads(said.out)["test_mean"] > 75
    assert (tmp_path / "report.png").is_file()
