from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from small_sets import TEN_MOLECULES, classes, split, with_labels

from gmpool.data import PackedGraphs, Split, from_smiles
from gmpool.errors import UserError
from gmpool.tasks.wl_kernel import fit as kernel
from gmpool.tasks.wl_kernel.fit import fit_kernel
from gmpool.tasks.wl_kernel.svm import WLSubtreeSVM

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
    monkeypatch.setattr(kernel, "MAX_GRAPHS", 20)
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
