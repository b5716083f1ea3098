"""Classification as a task: which data it opens, and what its runs report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from own_set import write_set
from report_rows import row
from small_jobs import job
from small_sets import MODEL, dataset, with_labels
from trainings import as_set

from gmpool.data import CATALOGUE
from gmpool.engine.executors.executor import Alone
from gmpool.engine.executors.stacked import Stacked
from gmpool.engine.run_jobs import run_jobs
from gmpool.engine.store import RunStore
from gmpool.errors import UserError
from gmpool.pool import METHODS
from gmpool.report.comparison import Cell
from gmpool.report.recorded_outputs import recorded_outputs
from gmpool.tasks.classify.own_rows import is_own
from gmpool.tasks.classify.settings import AUTHORS
from gmpool.tasks.task import TASKS, Asked

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


LABELS = {
    "multiclass": dataset(),
    "binary": as_set(with_labels(torch.tensor([[0.0, 1.0], [1.0, torch.nan]] * 12), "binary")),
    "regression": as_set(with_labels(torch.arange(24.0)[:, None], "regression")),
}


@pytest.mark.parametrize("task", LABELS)
def test_runs_on_own_data_keep_their_test_outputs_however_they_were_trained(
    task: str, tmp_path: Path
) -> None:
    data = replace(LABELS[task], folds=dataset().folds)
    made = job("mean", data, folds=2, seeds=1)
    one_by_one = run_jobs([made], RunStore(tmp_path / "alone"), Alone())
    together = run_jobs([made], RunStore(tmp_path / "stacked"), Stacked())
    for alone, stacked, split in zip(one_by_one, together, data.folds, strict=False):
        kept, again = recorded_outputs(alone), recorded_outputs(stacked)
        assert kept is not None
        assert again is not None
        assert kept.of == again.of == (task, data.graphs.task_names, data.graphs.class_names)
        y = data.graphs.y[split.test].double().reshape(len(split.test), -1).numpy()
        np.testing.assert_array_equal(kept.truth, y)
        np.testing.assert_array_equal(again.truth, y)
        np.testing.assert_allclose(kept.made, again.made, atol=1e-4)
        drawn = [picture.name.split("-1-")[0] for picture in CLASSIFY.summary([alone])[0].pictures]
        curves = ["roc", "precision-recall", "calibration"]
        kinds = {"multiclass": ["confusion", *curves], "binary": curves, "regression": ["parity"]}
        assert drawn[1:] == [*kinds[task], "intervals"]
        assert drawn[0].startswith("curves-")


def test_a_kernel_keeps_the_classes_that_it_names(tmp_path: Path) -> None:
    (found,) = run_jobs([job("wl-svm", folds=1, seeds=1)], RunStore(tmp_path), Alone())
    kept = recorded_outputs(found)
    assert kept is not None
    assert kept.margin is None
    right = (kept.truth == kept.made).mean()
    assert 100 * right == pytest.approx(found.test)


def test_rows_of_named_sets_keep_no_outputs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    data = replace(dataset(), name="MUTAG")
    assert is_own(data), "another set that is called the same"
    entry = replace(CATALOGUE["MUTAG"], content=data.digest)
    monkeypatch.setitem(CATALOGUE, "MUTAG", entry)
    (found,) = run_jobs([job("mean", data, folds=1, seeds=1)], RunStore(tmp_path), Alone())
    assert "scores" in found.more
    assert "outputs" not in found.more
    monkeypatch.setitem(CATALOGUE, "MUTAG", replace(entry, content=""))
    assert not is_own(data), "whose content is not known"


def test_a_plan_of_targets_in_several_units_shows_each_below_its_table() -> None:
    part = {"count": [5, 4], "rmse": [0.5, 400.0]}
    scores = {"labels": ["logP", "mass"], "test": part}
    own = row(dataset="own", metric="nrmse", scores=scores)
    cells = [Cell("gmt", "gmt", "own", 1, [own]), Cell("gmt", "gmt", "MUTAG", 1, [row()])]
    table, by_label = CLASSIFY.grids(Asked("plan", "plan", cells))
    assert any(note.startswith("nrmse:") for note in table.notes)
    assert [[square.text for square in line] for line in by_label.lines] == [
        ["own", "gmt", "logP", "5", "0.500"], ["own", "gmt", "mass", "4", "400"],
    ]  # fmt: skip
    assert len(CLASSIFY.grids(Asked("plan", "plan", cells[1:]))) == 1
