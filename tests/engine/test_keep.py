"""Models that outlive their run."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from killed import ends_before
from small_graphs import atoms
from small_jobs import Log, job, timeless
from small_sets import classes, split

from gmpool.data import Dataset, Split, with_splits
from gmpool.engine.checkpoint import kept_model, load_model, saved_key
from gmpool.engine.executors.executor import Alone, Executor
from gmpool.engine.executors.processes import Processes
from gmpool.engine.executors.stacked import Stacked
from gmpool.engine.job import Job
from gmpool.engine.keep import KeepAll, KeepBest, best_of
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


def test_a_model_says_how_its_data_were_split(tmp_path: Path) -> None:
    made = with_splits(Dataset.of(classes()), "stratified", folds=3, split_seed=2)
    todo = [job(data=made, folds=1, seeds=1)]
    run_jobs(todo, RunStore(tmp_path / "runs"), Alone(), keep=KeepBest(tmp_path / "model"))
    about = load_model(tmp_path / "model").description["about"]
    assert about["split"] == {"kind": "stratified", "folds": 3, "repeats": 1, "seed": 2}


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


def test_what_is_saved_already_is_not_trained_again(tmp_path: Path) -> None:
    """And of recorded runs without models only the best is."""
    store, todo, folder = RunStore(tmp_path / "runs"), [job(folds=3)], tmp_path / "model"
    rows = run_jobs(todo, store, Alone())
    best, log = best_of(rows), Log()
    run_jobs(todo, store, Alone(), watcher=log, keep=KeepBest(folder))
    assert [run for run in log.runs if not run[-1]] == [("gmt", best.seed, best.fold, False)]
    before, again = (folder / "model.safetensors").stat().st_mtime_ns, Log()
    run_jobs(todo, store, Alone(), watcher=again, keep=KeepBest(folder))
    assert [reused for *_, reused in again.runs] == [True] * 6
    assert (folder / "model.safetensors").stat().st_mtime_ns == before
    assert log.notes == again.notes == []


def test_damaged_weights_are_made_again(tmp_path: Path) -> None:
    store, todo, keep = RunStore(tmp_path), [job("mean", folds=1, seeds=2)], tmp_path / "models"
    rows = run_jobs(todo, store, Alone(), keep=KeepAll(keep))
    path = keep / rows[1].key / "model.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:-4] + b"none")
    assert kept_model(keep)(rows[1]) is None
    log = Log()
    run_jobs(todo, store, Alone(), watcher=log, keep=KeepAll(keep))
    assert log.runs == [("mean", 42, 1, True), ("mean", 43, 1, False)]
    assert path.read_bytes() == whole


def test_a_run_that_comes_out_otherwise_is_told_and_the_model_says_both(tmp_path: Path) -> None:
    todo = [job("mean", folds=1, seeds=1)]
    (row,) = run_jobs(todo, RunStore(tmp_path / "a"), Alone())
    store, log = RunStore(tmp_path / "b"), Log()
    store.record(replace(row, test=12.5, device="another machine"))
    run_jobs(todo, store, Alone(), watcher=log, keep=KeepBest(tmp_path / "model"))
    about = load_model(tmp_path / "model").description["about"]
    assert (about["key"], about["test"], about["done_again"]["test"]) == (row.key, 12.5, row.test)
    (said,) = log.notes
    assert f"gave test accuracy {row.test} on {row.device}, where 12.5 is recorded" in said
    assert [one.test for one in store] == [12.5]


@pytest.mark.parametrize("who", [KeepAll, KeepBest])
def test_killed_anywhere_the_same_command_ends_with_row_and_model(
    who: type[KeepAll] | type[KeepBest], tmp_path: Path
) -> None:
    """At each write, fsync, rename and link of a run that is recorded and whose model is kept."""
    todo, ended, step = [job("mean", folds=1, seeds=1, epochs=1)], False, 0
    whole: list[bytes] = []
    while not ended:
        store, keep = RunStore(tmp_path / str(step)), who(tmp_path / str(step) / "models")
        ended = ends_before(step, partial(run_jobs, todo, store, Alone(), keep=keep))
        (row,) = run_jobs(todo, store, Alone(), keep=keep)
        assert len(list(store)) == 1
        saved = keep.folder / row.key if who is KeepAll else keep.folder
        assert saved_key(saved) == row.key
        weights = load_model(saved).model.state_dict()
        whole.append(b"".join(weight.numpy().tobytes() for weight in weights.values()))
        left = {p.name for p in store.folder.iterdir()}
        assert left - {"models", "rows.jsonl"} <= {".claims", ".rows.jsonl.writer"}
        step += 1
    assert step > 12
    assert len(set(whole)) == 1


def test_a_method_without_weights(tmp_path: Path) -> None:
    todo, keep = [job("wl-svm", folds=1, seeds=1)], KeepBest(tmp_path / "model")
    with pytest.raises(UserError, match="wl-svm has no weights to save"):
        run_jobs(todo, RunStore(tmp_path / "runs"), Alone(), keep=keep)
    assert not (tmp_path / "model").exists()
