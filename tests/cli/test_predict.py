"""`gmpool predict` on what `gmpool train --save-model` has kept."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas
import pytest
import torch
from rich.console import Console
from small_sets import FLAGS, MODEL, TEN_MOLECULES

from gmpool.cli.row_bar import bar_of
from gmpool.data import from_smiles, graph_rows, load
from gmpool.data.sources.table_cells import Cells, Line
from gmpool.engine.checkpoint import load_model, save_model
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.classify.predict import predict
from gmpool.tasks.shape import DataShape
from gmpool.tasks.task import TASKS

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
    "binary": ["p_toxic"],
    "multi-task": ["p_toxic", "p_active"],
    "classes": ["pred_kind", "p_acid", "p_base"],
    "regression": ["pred_energy", "std_energy"],
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
    Path("new.csv").write_text("id,SMILES,energy\n7, CCOCC,-1.50\n8,c1ccccc1O,\n9,CC,x\n")
    said = gmpool_cli("predict", "model", "new.csv")
    assert said.code == 0, said.err
    header, *rows = csv.reader(io.StringIO(said.out))
    assert header == ["id", "SMILES", "energy", *COLUMNS[kind], "problem"]
    assert [row[:3] for row in rows] == [
        ["7", " CCOCC", "-1.50"],
        ["8", "c1ccccc1O", ""],
        ["9", "CC", "x"],
    ]
    for *values, problem in (row[3:] for row in rows):
        assert problem == ""
        if kind == "classes":
            acid, base = map(float, values[1:])
            assert acid + base == pytest.approx(1, abs=1e-5)
            assert values[0] == ("acid" if acid > base else "base")
        elif kind == "regression":
            assert 50 < float(values[0]) < 210, "in the unit of the labels"
            assert 1 < float(values[1]) < 200
        else:
            assert all(0 < float(value) < 1 for value in values)

    written = gmpool_cli("predict", "model", "new.csv", "--out", "p.csv")
    assert (written.code, written.out) == (0, "")
    assert written.err == "3 predictions: p.csv\n"
    assert Path("p.csv").read_text() == said.out


@pytest.fixture
def toxic_model() -> None:
    """One that predicts p_toxic, in the folder model."""
    graphs = from_smiles(TEN_MOLECULES, torch.arange(10.0) % 2, task="binary", task_names=["toxic"])
    model = GraphModel(DataShape.of(graphs), MODEL)
    save_model(TASKS["classify"], model, Path("model"), {})


BAD_TABLE = "smiles,who\nCC,a\nc1:o:c,b\nCO,=1+1\nCN\n,-\nCCC,c,d,e\nC#C,-0.5\n"


@pytest.mark.usefixtures("toxic_model")
def test_every_row_is_kept_and_says_why_it_has_no_prediction(gmpool_cli: Cli) -> None:
    Path("new.csv").write_text(BAD_TABLE)
    said = gmpool_cli("predict", "model", "new.csv")
    assert said.code == 0, said.err
    header, *rows = csv.reader(io.StringIO(said.out))
    assert header == ["smiles", "who", "p_toxic", "problem"]
    assert [row[:2] for row in rows] == [
        ["CC", "a"],
        ["c1:o:c", "b"],
        ["CO", "'=1+1"],
        ["CN", ""],
        ["", "-"],
        ["CCC", "c"],
        ["C#C", "-0.5"],
    ]
    assert [bool(row[2]) for row in rows] == [True, False, True, False, False, False, True]
    assert [bool(row[3]) for row in rows] == [False, True, False, True, True, True, False]
    assert "c1:o:c" in rows[1][3]
    assert rows[3][3] == "1 fields, expected 2"
    assert rows[5][3] == "4 fields, expected 2; the last 2 are not kept: 'd', 'e'"
    assert "without a prediction: new.csv:3: " in said.err
    assert "c1:o:c" in said.err, "SMILES are text, not emoji"
    assert said.err.endswith(
        "4 of 7 rows without a prediction\n"
        "cells that begin like a formula and got an apostrophe: 1\n"
    )


@pytest.mark.usefixtures("toxic_model")
def test_tables_of_other_forms_keep_their_columns(gmpool_cli: Cli) -> None:
    Path("new.csv").write_text("SMILES;mass;who\nCC;30,07;Jürgen\nCO;32,04;\n", encoding="latin-1")
    Path("new.smi").write_text("CC ethane\nCO methanol\n")
    pandas.DataFrame({"smiles": ["CC", "CO"], "n": [1, 2]}).to_parquet("new.parquet")
    found = {}
    for name in ("new.csv", "new.smi", "new.parquet"):
        said = gmpool_cli("predict", "model", name)
        assert said.code == 0, said.err
        found[name] = [row[:-2] for row in csv.reader(io.StringIO(said.out))]
    assert found == {
        "new.csv": [["SMILES", "mass", "who"], ["CC", "30,07", "Jürgen"], ["CO", "32,04", ""]],
        "new.smi": [["smiles", "name"], ["CC", "ethane"], ["CO", "methanol"]],
        "new.parquet": [["smiles", "n"], ["CC", "1"], ["CO", "2"]],
    }


@pytest.mark.usefixtures("toxic_model")
def test_rows_are_left_out_only_when_told_and_the_others_stay(gmpool_cli: Cli) -> None:
    Path("new.csv").write_text(BAD_TABLE)
    whole = gmpool_cli("predict", "model", "new.csv").out
    said = gmpool_cli("predict", "model", "new.csv", "--skip-bad-rows", "--out", "p.csv")
    assert said.code == 0
    good = [line for line in whole.splitlines() if line.endswith((",problem", ","))]
    assert Path("p.csv").read_text().splitlines() == good
    assert len(good) == 4
    assert "left out: new.csv:3: " in said.err
    assert "4 of 7 rows left out\n" in said.err
    assert said.err.endswith("\n3 predictions: p.csv\n")


@pytest.mark.usefixtures("toxic_model")
def test_many_problems_are_counted_and_the_first_shown(gmpool_cli: Cli) -> None:
    Path("new.csv").write_text("smiles\n" + "?\n" * 12)
    said = gmpool_cli("predict", "model", "new.csv")
    assert said.code == 0
    assert said.err.count("new.csv:") == 5
    assert "… and 7 more\n12 of 12 rows without a prediction\n" in said.err


@pytest.mark.usefixtures("toxic_model")
def test_a_column_of_the_input_is_never_overwritten(gmpool_cli: Cli) -> None:
    Path("new.csv").write_text("smiles,p_toxic,problem,p_toxic_2\nCC,0.25,none,x\n")
    said = gmpool_cli("predict", "model", "new.csv")
    header, row = csv.reader(io.StringIO(said.out))
    assert header == ["smiles", "p_toxic", "problem", "p_toxic_2", "p_toxic_3", "problem_2"]
    assert row[:4] == ["CC", "0.25", "none", "x"]
    assert "the input has a column 'p_toxic'; the new one is called 'p_toxic_3'" in said.err
    again = gmpool_cli("predict", "model", "new.csv", "--out", "a.csv")
    assert again.code == 0
    assert gmpool_cli("predict", "model", "a.csv").out.count("p_toxic") == 4


@pytest.mark.usefixtures("toxic_model")
@pytest.mark.parametrize("link", [None, "symlink_to", "hardlink_to"])
def test_the_input_is_never_overwritten(link: str | None, gmpool_cli: Cli) -> None:
    Path("new.csv").write_text("smiles\nCC\n")
    target = Path("new.csv" if link is None else "other.csv")
    if link is not None:
        getattr(target, link)("new.csv")
    said = gmpool_cli("predict", "model", "new.csv", "--out", target)
    assert said.code == 2
    assert f"--out {target} is the input new.csv itself" in said.err
    assert Path("new.csv").read_text() == "smiles\nCC\n"


def test_the_file_of_a_named_set_is_never_overwritten(gmpool_cli: Cli) -> None:
    Path("ogbg-molhiv.csv.gz").write_text("a table")
    words = ("predict", "model", "ogbg-molhiv", "--data", ".", "--out", "ogbg-molhiv.csv.gz")
    assert "is the input ogbg-molhiv.csv.gz itself" in gmpool_cli(*words).err


@pytest.mark.usefixtures("toxic_model")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["new.csv", "--out", "p.xlsx"], "--out ends in .csv, .csv.gz, .csv.xz, .tsv"),
        (["new.csv", "--out", "folder.csv"], "--out folder.csv: there is a folder of that name"),
        (["new.csv", "--out", "device.csv"], "--out device.csv is no ordinary file"),
        (["new.csv", "--out", "p.csv", "--smiles-column", "SMI"], "unknown column 'SMI'"),
        (["other.csv", "--out", "p.csv"], "no column is called 'smiles'"),
        (["MUTAG", "--out", "p.csv"], "the model was trained on graphs with"),
        (["MUTAG", "--smiles-column", "x", "--out", "p.csv"], "--smiles-column is for a "),
    ],
)
def test_what_cannot_be_done_stops_before_a_file_is_written(
    words: list[str], says: str, gmpool_cli: Cli
) -> None:
    Path("new.csv").write_text("smiles\nCC\n")
    Path("other.csv").write_text("x\nCC\n")
    Path("folder.csv").mkdir()
    Path("device.csv").symlink_to(os.devnull)
    before = sorted(Path().iterdir())
    said = gmpool_cli("predict", "model", *words)
    assert (said.code, said.out) == (2, "")
    assert says in said.err
    assert sorted(Path().iterdir()) == before


@pytest.mark.usefixtures("toxic_model")
def test_ctrl_c_says_how_far_it_came_and_leaves_the_old_file(
    gmpool_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(cells: Cells) -> Iterator[Line]:
        for line in lines(cells):
            if line.number == 4:
                raise KeyboardInterrupt
            yield line

    lines = Cells.__iter__
    monkeypatch.setattr(Cells, "__iter__", interrupted)
    monkeypatch.setattr(graph_rows, "PART_ROWS", 1)
    Path("new.csv").write_text("smiles\nCC\nCO\nCN\nCF\n")
    Path("p.csv").write_text("before")
    said = gmpool_cli("predict", "model", "new.csv", "--out", "p.csv")
    assert said.code == 130
    assert "stopped after 2 rows; p.csv is not done, and the same command goes on" in said.err
    assert Path("p.csv").read_text() == "before"
    kept = [".p.csv.part", ".p.csv.part.json", "model", "new.csv", "p.csv"]
    assert sorted(path.name for path in Path().iterdir()) == kept
    monkeypatch.setattr(Cells, "__iter__", lines)
    said = gmpool_cli("predict", "model", "new.csv", "--out", "p.csv")
    assert said.err == (
        "p.csv: 2 rows were done before, it goes on behind them\n4 predictions: p.csv\n"
    )
    whole = gmpool_cli("predict", "model", "new.csv").out
    assert Path("p.csv").read_text() == whole
    assert sorted(path.name for path in Path().iterdir()) == ["model", "new.csv", "p.csv"]


@pytest.mark.usefixtures("toxic_model")
def test_a_reader_that_has_seen_enough_ends_it_quietly(
    gmpool_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("new.csv").write_text("smiles\nCC\n")
    reading, writing = os.pipe()
    os.close(reading)
    with monkeypatch.context() as patch, os.fdopen(writing, "wb", buffering=0) as pipe:
        patch.setattr(sys, "stdout", io.TextIOWrapper(pipe))
        said = gmpool_cli("predict", "model", "new.csv")
    assert (said.code, said.err) == (1, "")


@pytest.mark.parametrize(("total", "says"), [(4000, "2,048 of 4,000 rows"), (None, "2,048 rows")])
def test_the_bar_says_how_many_rows_came(total: int | None, says: str) -> None:
    text = io.StringIO()
    shown = Console(file=text, force_terminal=True, width=100)
    with bar_of(shown, hidden=False) as bar:
        task = bar.add_task("", total=total)
        bar.update(task, completed=2048)
    assert says in text.getvalue()
    assert bar_of(shown, hidden=True).disable


def test_predict_on_a_tu_folder_without_labels(gmpool_cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    source = load("MUTAG").graphs
    write_tu(folder)
    assert gmpool_cli("train", "MUTAG", "--folds", 1, "--save-model", "model", *FLAGS).code == 0
    said = gmpool_cli("predict", "model", folder)
    assert said.code == 0, said.err
    header, *rows = csv.reader(io.StringIO(said.out))
    assert header == ["graph", "pred_label", "p_-1", "p_1", "problem"]
    expected = predict(load_model(Path("model")).model, source)
    found = torch.tensor([[float(v) for v in row[2:-1]] for row in rows])
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
