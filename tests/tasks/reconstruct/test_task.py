"""What rows of reconstructions say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from small_graphs import atoms, points

from gmpool.data import Dataset, PackedGraphs, Split, card
from gmpool.engine.executors.executor import Alone
from gmpool.engine.job import Job
from gmpool.engine.run_jobs import run_jobs
from gmpool.engine.store import RunStore
from gmpool.errors import UserError
from gmpool.record import Row
from gmpool.tasks.reconstruct.data import reconstruct_split
from gmpool.tasks.reconstruct.late_scores import unpack_predictions
from gmpool.tasks.task import TASKS

RECONSTRUCT = TASKS["reconstruct"]


def rows_of(graphs: PackedGraphs, method: str, folder: Path, **options: Any) -> list[Row]:
    data = Dataset("small", graphs, (), None)
    chosen = {"epochs": 3, "hidden_dim": 8, "batch_size": 8, **options}
    job = Job.make("reconstruct", data, method, options=chosen)
    return run_jobs([job], RunStore(folder), Alone())


def test_a_row_of_atoms_keeps_what_was_predicted(tmp_path: Path) -> None:
    (row,) = rows_of(atoms(), "gmt", tmp_path)
    assert (row.task, row.metric) == ("reconstruct", "accuracy")
    assert row.more["scores"].keys() == {"accuracy", "error_a"}
    assert row.more["scores"]["accuracy"] == pytest.approx(row.test)
    part = reconstruct_split(Dataset("small", atoms(), (), None))
    true = atoms().batch(part.test).node_cat[:, 0]
    found = unpack_predictions(row.more["predicted"], true, 4)
    assert 100 * (found == true).double().mean() == pytest.approx(row.test)
    json.dumps(row.to_json(), allow_nan=False)


def test_both_errors_are_reported_whatever_was_learned(tmp_path: Path) -> None:
    for aim in ("x", "a"):
        (row,) = rows_of(points(), "mincut", tmp_path, objective=aim)
        assert row.metric == f"error_{aim}"
        assert row.more["scores"].keys() == {"error_x", "error_a"}
        assert row.more["scores"][f"error_{aim}"] == pytest.approx(row.test, rel=1e-5)
        assert "predicted" not in row.more


def test_a_set_without_a_test_part_is_refused_before_it_is_trained_on() -> None:
    part = reconstruct_split(Dataset("small", atoms(), (), None))
    data = Dataset("small", atoms(), (Split(part.train, part.valid, part.test[:0]),), None)
    with pytest.raises(UserError, match="the test part of the split of small is empty"):
        Job.make("reconstruct", data, "gmt")


def test_one_split_whatever_folds_a_set_has() -> None:
    found = RECONSTRUCT.card("MUTAG")
    assert found is not None
    assert found.split_digests == card("MUTAG").split_digests[:1]
    assert len(card("MUTAG").split_digests) == 10
    assert RECONSTRUCT.card("ring") is None


def test_a_graph_with_parameters() -> None:
    ring = RECONSTRUCT.open("ring", parameter=["n=12"])
    assert ring.graphs.num_nodes == 12
    assert RECONSTRUCT.card_of(ring).graphs == 1
    with pytest.raises(UserError, match="unknown method 'mean'"):
        Job.make("reconstruct", ring, "mean")


def test_where_graphs_come_from(tmp_path: Path) -> None:
    task = TASKS["reconstruct"]
    assert task.open("ring", parameter=["n=10"]).graphs.num_nodes == 10
    table = tmp_path / "own.csv"
    table.write_text("smiles\nCCO\nCC\nCN\nC=O\n")
    own = task.open(str(table))
    assert own.graphs.node_type_names
    assert task.splits(own)[0].train.numel() == 2
    for source, options, message in (
        (str(table), {"parameter": ["n=3"]}, "--parameter is for a graph that is made on the spot"),
        ("ring", {"smiles_column": "s"}, "--smiles-column is for a CSV, and 'ring' is not one"),
        ("rign", {}, "unknown graph 'rign'"),
        (str(tmp_path / "none.safetensors"), {}, "no such file"),
    ):
        with pytest.raises(UserError, match=message):
            task.open(source, **options)
