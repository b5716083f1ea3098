"""Reconstructions through the store: rows, resuming, weights, and chemists' scores made later."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch
from small_graphs import atoms, points
from small_sets import TEN_MOLECULES

from gmpool.config import RunSpec
from gmpool.data import Dataset, load_table
from gmpool.engine import reconstructions as module
from gmpool.engine.checkpoint import load_autoencoder
from gmpool.engine.reconstructions import ReconstructJob, run_reconstructions
from gmpool.engine.store import RunStore
from gmpool.errors import UserError
from gmpool.tasks.reconstruct import late_scores
from gmpool.tasks.reconstruct.data import reconstruct_split
from gmpool.tasks.reconstruct.packed_types import unpack_predictions
from gmpool.tasks.reconstruct.rebuild import rebuild

SHORT = {"epochs": 3, "hidden_dim": 8, "batch_size": 8}


def set_of(graphs) -> Dataset:
    return Dataset("small", graphs, (), None)


def jobs(dataset: Dataset, *methods: str, seeds: int = 2, **options) -> list[ReconstructJob]:
    return [
        ReconstructJob.make(dataset, method, seeds=seeds, options={**SHORT, **options})
        for method in methods
    ]


class Watcher:
    def __init__(self) -> None:
        self.done: list[tuple[str, int, bool]] = []
        self.notes: list[str] = []

    def run_started(self, spec: RunSpec):
        return lambda epoch: None

    def stack_started(self, specs):
        return lambda epoch, running: None

    def run_finished(self, spec: RunSpec, row, *, reused: bool) -> None:
        self.done.append((spec.model.method, spec.seed, reused))

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_a_row_says_all_that_is_needed_later(tmp_path: Path) -> None:
    data = set_of(atoms())
    (job,) = jobs(data, "gmt", seeds=1)
    (row,) = run_reconstructions([job], RunStore(tmp_path))
    (spec,) = job.specs()
    assert row["key"] == spec.key
    assert row["task"] == "reconstruct"
    assert row["config"] == {"model": asdict(job.model), "train": asdict(job.train)}
    assert row["metric"] == "accuracy"
    assert row["scores"].keys() == {"accuracy", "error_a"}
    assert row["scores"]["accuracy"] == pytest.approx(row["test"])
    assert len(row["curve"]["train_loss"]) == row["epochs"] == 3
    true = data.graphs.batch(job.split.test).node_cat[:, 0]
    found = unpack_predictions(row["predicted"], true, 4)
    assert 100 * (found == true).double().mean() == pytest.approx(row["test"])
    json.dumps(row, allow_nan=False)


def test_both_errors_are_reported_whatever_was_learned(tmp_path: Path) -> None:
    data = set_of(points())
    for aim in ("x", "a"):
        (row,) = run_reconstructions(
            jobs(data, "mincut", seeds=1, objective=aim), RunStore(tmp_path)
        )
        assert row["metric"] == f"error_{aim}"
        assert row["scores"].keys() == {"error_x", "error_a"}
        assert row["scores"][f"error_{aim}"] == pytest.approx(row["test"], rel=1e-5)
        assert "predicted" not in row


@pytest.mark.parametrize("replicas", [1, 2, None])
def test_what_is_recorded_is_not_done_again(tmp_path: Path, replicas: int | None) -> None:
    data, store = set_of(atoms()), RunStore(tmp_path)
    run_reconstructions(jobs(data, "gmt", seeds=1), store, replicas=replicas)
    watcher = Watcher()
    rows = run_reconstructions(
        jobs(data, "gmt", "random"), store, replicas=replicas, watcher=watcher
    )
    assert [(row["method"], row["seed"]) for row in rows] == [
        ("gmt", 42), ("gmt", 43), ("random", 42), ("random", 43)
    ]  # fmt: skip
    assert watcher.done == [
        ("gmt", 42, True), ("gmt", 43, False), ("random", 42, False), ("random", 43, False)
    ]  # fmt: skip
    assert len(list(store)) == 4


def test_stacked_rows_are_those_of_runs_alone(tmp_path: Path) -> None:
    data = set_of(atoms())
    alone = run_reconstructions(jobs(data, "gmt", "diffpool"), RunStore(tmp_path / "alone"))
    stacked = run_reconstructions(
        jobs(data, "gmt", "diffpool"), RunStore(tmp_path / "stacked"), replicas=None
    )
    for a, b in zip(alone, stacked, strict=True):
        assert (a["key"], a["replicas"], b["replicas"]) == (b["key"], 1, 2)
        assert a["scores"] == pytest.approx(b["scores"], rel=1e-3)


def test_methods_that_cannot_be_stacked_run_alone_and_say_so(tmp_path: Path) -> None:
    watcher = Watcher()
    todo = jobs(set_of(atoms()), "structpool", hops=2)
    rows = run_reconstructions(todo, RunStore(tmp_path), replicas=None, watcher=watcher)
    assert [row["replicas"] for row in rows] == [1, 1]
    assert "structpool on small runs one at a time" in watcher.notes[0]


def test_weights_are_kept_and_rebuild_the_same(tmp_path: Path) -> None:
    data, store, kept = set_of(atoms()), RunStore(tmp_path), tmp_path / "models"
    todo = jobs(data, "random", "gmt", seeds=1)
    run_reconstructions(todo, store)
    rows = run_reconstructions(todo, store, keep_models=kept)
    assert len(list(store)) == 2, "done again for the weights, recorded once"
    for row in rows:
        model, description = load_autoencoder(kept / row["key"])
        again = rebuild(model, data.graphs, reconstruct_split(data).test)
        assert again.scores == pytest.approx(row["scores"])
        assert description["about"]["key"] == row["key"]
        true = data.graphs.batch(reconstruct_split(data).test).node_cat[:, 0]
        assert torch.equal(again.nodes, unpack_predictions(row["predicted"], true, 4))


def test_a_failure_does_not_stop_the_others(tmp_path: Path) -> None:
    bad, good = jobs(set_of(points()), "gmt", "mincut", seeds=1)
    bad = replace(bad, train=replace(bad.train, lr=1e30))
    failed = []
    rows = run_reconstructions(
        [bad, good], RunStore(tmp_path), on_failure=lambda *what: failed.append(what)
    )
    assert [row["method"] for row in rows] == ["mincut"]
    assert failed[0][0] is bad
    with pytest.raises(UserError, match="try a smaller lr"):
        run_reconstructions([bad], RunStore(tmp_path))


def test_a_long_curve_is_thinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_POINTS", 4)
    (row,) = run_reconstructions(
        jobs(set_of(points()), "gmt", seeds=1, epochs=10), RunStore(tmp_path)
    )
    assert row["epochs"] == 10
    assert row["curve"]["every"] == 3
    assert len(row["curve"]["valid_loss"]) == 4


def molecules(folder: Path) -> Dataset:
    table = folder / "molecules.csv"
    table.write_text("smiles\n" + "\n".join(TEN_MOLECULES) + "\n")
    return load_table(table, atoms="types")


def test_scores_of_molecules_at_once_or_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, store = molecules(tmp_path), RunStore(tmp_path)
    at_once = run_reconstructions(jobs(data, "gmt"), RunStore(tmp_path / "chemists"))
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    rows = run_reconstructions(jobs(data, "gmt"), store)
    assert "validity" not in rows[0]["scores"]
    later = late_scores.with_molecule_scores(rows, data, store)
    assert [row["scores"] for row in later] == [row["scores"] for row in at_once]
    assert [row["scores"] for row in rows] != [row["scores"] for row in later]

    def never(*_: object) -> None:
        raise AssertionError("scores are made once")

    monkeypatch.setattr(late_scores, "molecule_scores", never)
    assert late_scores.with_molecule_scores(rows, data, store) == later
