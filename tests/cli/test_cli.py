"""The commands as a user meets them; how they meet a user's mistakes is in test_bad_input.py."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from small_sets import FLAGS, TEN_MOLECULES

import gmpool
from gmpool.config import AUTHORS
from gmpool.data import CATALOGUE, load
from gmpool.pool import METHODS
from gmpool.tasks.classify.predict import predict

Cli = Callable[..., Any]
TRAIN = ("train", "MUTAG", "--method", "gmt", "--device", "cpu", *FLAGS)


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default store is the folder runs/ where the command is given."""
    monkeypatch.chdir(tmp_path)


def test_train_ends_with_one_json_object_and_the_second_time_reuses(gmpool_cli: Cli) -> None:
    words = (*TRAIN, "--folds", 2, "--seeds", 1, "--json")
    said = gmpool_cli(*words)
    assert said.code == 0, said.err
    (line,) = said.out.splitlines()
    result = json.loads(line)
    assert (result["dataset"], result["method"], result["runs"]) == ("MUTAG", "gmt", 2)
    rows = [json.loads(line) for line in Path("runs/rows.jsonl").read_text().splitlines()]
    assert [(row["seed"], row["fold"]) for row in rows] == [(42, 1), (42, 2)]
    tests = torch.tensor([row["test"] for row in rows], dtype=torch.float64)
    assert result["test_mean"] == pytest.approx(tests.mean().item())
    assert result["test_std"] == pytest.approx(tests.std().item())
    assert result["seconds"] == pytest.approx(sum(row["seconds"] for row in rows))
    assert result["paper"]["mean"] == 83.44
    assert said.err.count("epochs, ") == 2

    again = gmpool_cli(*words)
    assert json.loads(again.out) == result
    assert again.err.count("recorded before") == 2
    assert len(Path("runs/rows.jsonl").read_text().splitlines()) == 2


def test_methods_side_by_side_in_a_table_and_a_report(gmpool_cli: Cli) -> None:
    said = gmpool_cli(*TRAIN, "-m", "mean", "--folds", 2, "--report", "out/report.html")
    assert said.code == 0, said.err
    for word in ("MUTAG", "gmt", "mean", "83.44 ± 1.33", "69.50 ± 1.78", "accuracy %"):
        assert word in said.out
    assert "report: out/report.html" in said.err
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert "83.44 ± 1.33" in page
    assert "gmpool train MUTAG" in page
    assert not re.search(r'(src|href)="(?!data:)', page), "it needs no other file"
    (image,) = re.findall(r'src="data:image/png;base64,([^"]+)"', page)
    assert base64.b64decode(image).startswith(b"\x89PNG")

    markdown = gmpool_cli(*TRAIN, "-m", "mean", "--folds", 2, "--report", "out/report.md")
    assert markdown.err.count("recorded before") == 4
    assert "| 83.44 ± 1.33 |" in Path("out/report.md").read_text(encoding="utf-8")
    assert Path("out/report.png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture
def recorded(gmpool_cli: Cli) -> None:
    for words in (["--folds", 2], ["--folds", 1, "--seeds", 2, "--method", "mean"]):
        assert gmpool_cli("train", "MUTAG", "--device", "cpu", *FLAGS, *words).code == 0


def test_table_in_every_format(recorded: None, gmpool_cli: Cli) -> None:
    shown = gmpool_cli("table")
    assert shown.code == 0
    assert "83.44 ± 1.33" in shown.out
    assert "1 × 2" in shown.out
    lines = gmpool_cli("table", "--format", "markdown").out.splitlines()
    assert [line.split("|")[2].strip() for line in lines[2:4]] == ["gmt", "mean"]
    rows = list(csv.DictReader(io.StringIO(gmpool_cli("table", "--format", "csv").out)))
    assert [(r["method"], r["runs"], r["std_over"]) for r in rows] == [
        ("gmt", "2", "folds"), ("mean", "2", "seeds"),
    ]  # fmt: skip
    said = gmpool_cli("table", "runs", "--json")
    assert [r["method"] for r in json.loads(said.out)] == ["gmt", "mean"]
    assert gmpool_cli("table", "--format", "json").out == said.out


def test_table_of_a_file_of_rows_and_of_chosen_methods(recorded: None, gmpool_cli: Cli) -> None:
    shutil.move("runs/rows.jsonl", "mutag.jsonl")
    found = json.loads(gmpool_cli("table", "mutag.jsonl", "--method", "mean", "--json").out)
    assert [(r["method"], r["runs"]) for r in found] == [("mean", 2)]
    assert json.loads(gmpool_cli("table", "mutag.jsonl", "--dataset", "MUTAG", "--json").out)


def test_list_datasets(gmpool_cli: Cli) -> None:
    rows = json.loads(gmpool_cli("list", "datasets", "--json").out)
    assert {row["name"]: row["graphs"] for row in rows} == {
        name: entry.graphs for name, entry in CATALOGUE.items()
    }
    shown = gmpool_cli("list", "datasets").out
    assert all(name in shown for name in CATALOGUE)


def test_list_methods(gmpool_cli: Cli) -> None:
    rows = json.loads(gmpool_cli("list", "methods", "--json").out)
    assert [row["name"] for row in rows] == list(METHODS)
    assert all(row["about"] for row in rows)
    gmt = next(row for row in rows if row["name"] == "gmt")
    assert gmt["options"]["num_heads"] == 1
    assert gmt["architecture"] == "global"
    shown = gmpool_cli("list", "methods").out
    assert all(name in shown for name in METHODS)
    assert "num_heads=1" in shown


def test_list_presets(gmpool_cli: Cli) -> None:
    rows = json.loads(gmpool_cli("list", "presets", "--json").out)
    assert {row["dataset"]: row["settings"] for row in rows} == AUTHORS
    assert "num_heads=4, layer_norm=True" in gmpool_cli("list", "presets").out


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


def molecule_table(kind: str, path: Path) -> Path:
    names, labels = LABELS[kind]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["smiles", *names, "split"])
        for i in NUMBERS:
            part = "valid" if i % 5 == 3 else "test" if i % 5 == 4 else "train"
            writer.writerow(["C" * (i // 10) + TEN_MOLECULES[i % 10], *labels(i), part])
    return path


@pytest.mark.parametrize("kind", LABELS)
def test_predict_on_new_molecules(kind: str, gmpool_cli: Cli, tmp_path: Path) -> None:
    table = molecule_table(kind, tmp_path / "known[v2].csv")
    trained = gmpool_cli("train", table, "--save-model", "model", "--device", "cpu", *FLAGS)
    assert trained.code == 0, trained.err
    assert "known[v2]" in trained.out
    assert "model:  model" in trained.err
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
    model, _ = gmpool.engine.checkpoint.load_model(Path("model"))
    expected = predict(model, source)
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


def test_version_and_help(gmpool_cli: Cli) -> None:
    said = gmpool_cli("--version")
    assert (said.code, said.out) == (0, f"{gmpool.__version__}\n")
    for words, expected in {
        (): "train",
        ("train",): "--save-model",
        ("predict",): "--skip-bad-rows",
        ("table",): "--format",
        ("list",): "presets",
        ("bench",): "readout",
    }.items():
        said = gmpool_cli(*words, "--help")
        assert said.code == 0
        assert expected in said.out


def test_from_a_plain_copy_of_the_tree(tmp_path: Path) -> None:
    shutil.copytree(
        Path(gmpool.__file__).parent, tmp_path / "gmpool", ignore=shutil.ignore_patterns("*.pyc")
    )
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"}
    where = "import gmpool.cli, sys; print(gmpool.__file__); sys.argv[1:] = ['--help']; "
    done = subprocess.run(
        [sys.executable, "-c", f"{where} gmpool.cli.main()"],
        cwd=tmp_path, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == str(tmp_path / "gmpool" / "__init__.py")
    done = subprocess.run(
        [sys.executable, "-m", "gmpool", "list", "methods", "--json"],
        cwd=tmp_path, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert [row["name"] for row in json.loads(done.stdout)] == list(METHODS)
