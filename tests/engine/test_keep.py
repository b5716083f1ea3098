"""Models that outlive their run."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from small_graphs import atoms
from small_jobs import Log, job, timeless
from small_sets import classes, split

from gmpool.data import Dataset, Split
from gmpool.engine.checkpoint import KeepAll, KeepBest, kept_model, load_model
from gmpool.engine.executors.executor import Alone, Executor
from gmpool.engine.executors.processes import Processes
from gmpool.engine.executors.stacked import Stacked
from gmpool.engine.job import Job
from gmpool.engine.run_jobs import run_jobs
from gmpool.engine.store import RunStore
from gmpool.errors import UserError
from gmpool.tasks.reconstruct.data import reconstruct_split
from gmpool.tasks.reconstruct.late_scores import unpack_predictions
from gmpool.tasks.reconstruct.model import rebuild


@pytest.mark.parametrize("executor", [Alone(), Stacked(), Processes(2)], ids=str)
def test_the_kept_model_is_the_one_with_the_best_validation(
    tmp_path: Path, executor: Executor
) -> None:
    todo = [job(folds=3)]
    rows = run_jobs(todo, RunStore(tmp_path / "runs"), executor, keep=KeepBest(tmp_path / "model"))
    best = max(rows, key=lambda row: row.more["selection_score"])
    assert best.more["selection_score"] == -min(row.valid_loss for row in rows)
    about = load_model(tmp_path / "model").description["about"]
    assert (about["key"], about["seed"], about["fold"]) == (best.key, best.seed, best.fold)
    assert (about["test"], about["metric"]) == (best.test, "accuracy")


def test_a_model_can_be_kept_after_its_run_was_recorded(tmp_path: Path) -> None:
    store, todo = RunStore(tmp_path / "runs"), [job(folds=1, seeds=1)]
    rows = run_jobs(todo, store, Alone())
    again = run_jobs(todo, store, Alone(), keep=KeepBest(tmp_path / "model"))
    assert timeless(again) == timeless(rows)
    assert len(list(store)) == 1
    assert load_model(tmp_path / "model").description["about"]["key"] == rows[0].key


def test_without_a_validation_part_the_last_model_is_kept(tmp_path: Path) -> None:
    whole = Split(torch.arange(24), split().valid[:0], split().test[:0])
    data = Dataset("shapes", classes(), (whole,), "accuracy")
    todo = [job(data=data, folds=1, seeds=2)]
    rows = run_jobs(todo, RunStore(tmp_path / "runs"), Alone(), keep=KeepBest(tmp_path / "model"))
    assert {row.more["selection_score"] for row in rows} == {None}
    assert load_model(tmp_path / "model").description["about"]["key"] == rows[-1].key


def test_the_weights_of_all_are_kept_and_rebuild_the_same(tmp_path: Path) -> None:
    data, store, keep = Dataset("small", atoms(), (), None), RunStore(tmp_path), tmp_path / "models"
    options = {"epochs": 3, "hidden_dim": 8, "batch_size": 8}
    todo = [Job.make("reconstruct", data, name, options=options) for name in ("random", "gmt")]
    run_jobs(todo, store, Alone())
    rows = run_jobs(todo, store, Alone(), keep=KeepAll(keep))
    assert len(list(store)) == 2, "done again for the weights, recorded once"
    for row in rows:
        saved = load_model(keep / row.key)
        assert saved.task.name == "reconstruct"
        again = rebuild(saved.model, data.graphs, reconstruct_split(data).test)
        assert again.scores == pytest.approx(row.more["scores"])
        assert saved.description["about"]["key"] == row.key
        true = data.graphs.batch(reconstruct_split(data).test).node_cat[:, 0]
        assert torch.equal(again.nodes, unpack_predictions(row.more["predicted"], true, 4))
        assert kept_model(keep)(row) is not None
        assert kept_model(tmp_path)(row) is None
    log = Log()
    run_jobs(todo, store, Alone(), keep=KeepAll(keep), watcher=log)
    assert log.runs == [("random", 42, 1, True), ("gmt", 42, 1, True)], "what is kept, is kept"


def test_a_method_without_weights(tmp_path: Path) -> None:
    todo, keep = [job("wl-svm", folds=1, seeds=1)], KeepBest(tmp_path / "model")
    with pytest.raises(UserError, match="wl-svm has no weights to save"):
        run_jobs(todo, RunStore(tmp_path / "runs"), Alone(), keep=keep)
    assert not (tmp_path / "model").exists()
