"""`gmpool predict` on what `gmpool train --save-model` has kept."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from small_sets import FLAGS, TEN_MOLECULES

from gmpool.data import load
from gmpool.engine.checkpoint import load_model
from gmpool.tasks.classify.predict import predict

Cli = Callable[..., Any]


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


NUMBERS = range(len(TEN_MOLECULES) * 2)
LABELS = {
    "binary": (("toxic",), lambda i: [i % 2]),
    "multi-task": (("toxic", "active"), lambda i: [i % 2, "" if i % 3 == 0 else (i // 2) % 2]),
    "classes": (("kind",), lambda i: ["acid" if i % 2 else "base"]),
    "regression": (("energy",), lambda i: [100.5 + 3 * i]),
}
COLUMNS = {
    "binary": ["graph", "p_toxic"],
    "multi-task": ["graph", "p_toxic", "p_active"],
    "classes": ["graph", "class", "p_acid", "p_base"],
    "regression": ["graph", "energy"],
}


def molecule_table(kind: str, path: Path, last: str = "test") -> Path:
    """last: what a fifth of the rows are for, beside those for training and validation."""
    names, labels = LABELS[kind]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["smiles", *names, "split"])
        for i in NUMBERS:
            part = "valid" if i % 5 == 3 else last if i % 5 == 4 else "train"
            writer.writerow(["C" * (i // 10) + TEN_MOLECULES[i % 10], *labels(i), part])
    return path


@pytest.mark.parametrize("kind", LABELS)
def test_predict_on_new_molecules(kind: str, gmpool_cli: Cli, tmp_path: Path) -> None:
    table = molecule_table(kind, tmp_path / "known[v2].csv")
    trained = gmpool_cli("train", table, "--save-model", "model", "--device", "cpu", *FLAGS)
    assert trained.code == 0, trained.err
    assert "known[v2]" in trained.out
    assert "model: model\n" in trained.err
    Path("new.csv").write_text("id,SMILES\n7,CCOCC\n8,c1ccccc1O\n9,CC\n")
    said = gmpool_cli("predict", "model", "new.csv")
    assert said.code == 0, said.err
    header, *rows = csv.reader(io.StringIO(said.out))
    assert header == COLUMNS[kind]
    assert [row[0] for row in rows] == ["CCOCC", "c1ccccc1O", "CC"]
    for row in rows:
        if kind == "classes":
            acid, base = map(float, row[2:])
            assert acid + base == pytest.approx(1, abs=1e-5)
            assert row[1] == ("acid" if acid > base else "base")
        elif kind == "regression":
            assert 50 < float(row[1]) < 210, "in the unit of the labels"
        else:
            assert all(0 < float(value) < 1 for value in row[1:])

    written = gmpool_cli("predict", "model", "new.csv", "--out", "p.csv")
    assert (written.code, written.out) == (0, "")
    assert "3 predictions: p.csv" in written.err
    assert Path("p.csv").read_text() == said.out


def test_predict_leaves_bad_rows_out_only_when_told(gmpool_cli: Cli, tmp_path: Path) -> None:
    table = molecule_table("binary", tmp_path / "known.csv")
    assert gmpool_cli("train", table, "--save-model", "model", *FLAGS).code == 0
    Path("new.csv").write_text("smiles\nCC\nc1:o:c\nCO\n")
    stopped = gmpool_cli("predict", "model", "new.csv")
    assert (stopped.code, stopped.out) == (2, "")
    assert "new.csv:3:" in stopped.err
    assert "c1:o:c" in stopped.err, "SMILES are text, not emoji"
    said = gmpool_cli("predict", "model", "new.csv", "--skip-bad-rows")
    assert said.code == 0
    assert [line.split(",")[0] for line in said.out.splitlines()] == ["graph", "CC", "CO"]
    assert "left out: new.csv:3:" in said.err


def test_predict_on_a_tu_folder_without_labels(gmpool_cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    source = load("MUTAG").graphs
    write_tu(folder)
    assert gmpool_cli("train", "MUTAG", "--folds", 1, "--save-model", "model", *FLAGS).code == 0
    said = gmpool_cli("predict", "model", folder)
    assert said.code == 0, said.err
    header, *rows = csv.reader(io.StringIO(said.out))
    assert header == ["graph", "class", "p_-1", "p_1"]
    expected = predict(load_model(Path("model")).model, source)
    found = torch.tensor([[float(v) for v in row[2:]] for row in rows])
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def write_tu(folder: Path) -> None:
    """MUTAG as a folder of the user's, without the graphs' labels."""
    folder.mkdir()
    graphs = load("MUTAG").graphs
    whole = graphs.batch(range(graphs.num_graphs))
    tables = {
        "A": whole.edge_index.T + 1,
        "graph_indicator": whole.batch[:, None] + 1,
        "node_labels": whole.node_cat,
    }
    for name, table in tables.items():
        text = "\n".join(", ".join(map(str, line)) for line in table.tolist())
        (folder / f"OWN_{name}.txt").write_text(text + "\n")


def test_a_model_fitted_for_use_needs_no_test_part(gmpool_cli: Cli, tmp_path: Path) -> None:
    """All that is not for validation is for training, and nothing is left to be scored."""
    table = molecule_table("binary", tmp_path / "known.csv", last="train")
    words = ("train", table, "--save-model", "model", "--device", "cpu", *FLAGS)
    trained = gmpool_cli(*words, "--json")
    assert trained.code == 0, trained.err
    (row,) = [json.loads(line) for line in Path("runs/rows.jsonl").read_text().splitlines()]
    assert (row["test"], row["epochs"]) == (None, 3)
    assert row["valid"] is not None
    assert "test roc_auc undefined" in trained.err
    (shown,) = json.loads(trained.out)
    assert (shown["runs"], shown["test_mean"]) == (1, None)
    assert "–" in gmpool_cli("table", "--format", "markdown").out
    assert load_model(Path("model")).description["about"]["test"] is None
    said = gmpool_cli("predict", "model", table)
    assert said.code == 0, said.err
    assert len(said.out.splitlines()) == 1 + len(NUMBERS)
    stacked = gmpool_cli(*words, "--replicas", "auto", "--seeds", 2, "--store", "other")
    assert stacked.code == 0, stacked.err
    rows = [json.loads(line) for line in Path("other/rows.jsonl").read_text().splitlines()]
    assert [row["test"] for row in rows] == [None, None]


def test_a_model_that_makes_no_predictions_says_so(gmpool_cli: Cli) -> None:
    words = ("reconstruct", "ring", "-p", "n=12", "-o", "epochs=2", "-o", "hidden_dim=8")
    assert gmpool_cli(*words, "--device", "cpu", "--save-model", "model").code == 0
    said = gmpool_cli("predict", "model", "MUTAG")
    assert (said.code, said.out) == (2, "")
    assert "a model of reconstruct makes no predictions" in said.err
