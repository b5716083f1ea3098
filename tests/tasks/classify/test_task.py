"""Classification as a task: which data it opens, and what its runs report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from own_set import write_set
from small_sets import MODEL, dataset, with_labels
from trainings import as_set

from gmpool.errors import UserError
from gmpool.pool import METHODS
from gmpool.tasks.classify.settings import AUTHORS
from gmpool.tasks.task import TASKS

CLASSIFY = TASKS["classify"]


def test_a_folder_and_a_table(tmp_path: Path) -> None:
    write_set(tmp_path / "own")
    assert len(CLASSIFY.splits(CLASSIFY.open(str(tmp_path / "own")))) == 10
    table = tmp_path / "t.csv"
    table.write_text("s,toxic,size\n" + "".join(f"{'C' * n},{n % 2},{n}\n" for n in range(1, 13)))
    data = CLASSIFY.open(str(table), smiles_column="s", label=["size"], task="regression")
    assert (data.graphs.task, data.graphs.task_names, data.metric) == (
        "regression", ("size",), "rmse"
    )  # fmt: skip
    with pytest.raises(UserError, match="--label is for a CSV"):
        CLASSIFY.open(str(tmp_path / "own"), label=["x"])


def test_sets_that_cannot_be_trained_on() -> None:
    with pytest.raises(UserError, match="ZINC has no labels to train on; leave it out"):
        CLASSIFY.card("ZINC")
    with pytest.raises(UserError, match="no folds to train on"):
        CLASSIFY.splits(replace(dataset(), folds=()))


def test_methods_and_presets() -> None:
    assert set(CLASSIFY.methods()) == set(METHODS)
    assert CLASSIFY.presets == AUTHORS
    assert all(CLASSIFY.about(method) for method in METHODS)


@pytest.mark.parametrize(("task", "metric"), [("binary", "roc_auc"), ("regression", "rmse")])
def test_the_metric_is_that_of_the_labels(task: str, metric: str) -> None:
    labels = torch.tensor([[0.0], [1.0]] * 12)
    assert CLASSIFY.metric(as_set(with_labels(labels, task)), MODEL) == metric
    assert CLASSIFY.metric(dataset(), MODEL) == "accuracy"


def test_replicas_may_have_their_own_dropout_and_nothing_else() -> None:
    one = CLASSIFY.architecture(MODEL)
    assert CLASSIFY.architecture(replace(MODEL, dropout=0.3)) == one
    for change in ({"hidden_dim": 16}, {"method": "mean"}, {"pool": {"num_heads": 2}}):
        assert CLASSIFY.architecture(replace(MODEL, **change)) != one


def test_a_saved_model_is_built_again() -> None:
    model = CLASSIFY.build(dataset(), MODEL)
    again = CLASSIFY.rebuild(model.shape.to_json(), vars(model.config))
    assert (again.shape, again.config) == (model.shape, model.config)
