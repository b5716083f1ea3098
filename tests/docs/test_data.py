"""docs/data.md: its table is understood as the page shows, and its Python runs."""

from __future__ import annotations

import csv
import json
import random
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doc_blocks import ROOT, blocks, commands
from reactions import write_csv
from said import Said

from gmpool.data import load

PAGE = ROOT / "docs" / "data.md"


def shown() -> list[str]:
    """The lines of the page from the table's name on."""
    found = re.search(r"^ {4}mine\.csv: .*\n(?: {4}.*\n)+", PAGE.read_text("utf-8"), re.MULTILINE)
    assert found is not None
    return [line.strip() for line in found[0].splitlines()]


def test_a_table_is_understood_as_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rdkit")
    monkeypatch.chdir(tmp_path)
    answers = ["1"] * 812 + ["0"] * 377 + ["N/A"] * 14
    random.Random(0).shuffle(answers)
    lines = [
        f"{10_000 + 7 * row};{'C' * (row % 40 + 1)}N{'C' * (row // 40 + 41)}O;{answer};20,5"
        for row, answer in enumerate(answers)
    ]
    Path("mine.csv").write_text("\n".join(["compound_no;SMILES;active;temperature", *lines]))
    assert list(load("mine.csv").understood) == shown()


_OF_A_MODEL = (["predict", "m"], ["evaluate", "m"], ["embed", "m"])


def test_what_a_model_says_of_new_molecules_by_its_commands(
    gmpool_cli: Callable[..., Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rdkit")
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    rows = [f"{'C' * (n % 30 + 1)}{'NO'[n % 2]},{n % 30 / 4}" for n in range(240)]
    text = "\n".join(["smiles,logS", *rows])
    Path("parts").mkdir()
    for name in ("molecules", "measured", "new", "parts/1", "parts/2"):
        Path(f"{name}.csv").write_text(text)
    words = [words for words in commands(PAGE) if words[:2] in _OF_A_MODEL]
    train, *_ = commands(PAGE)
    short = "-o epochs=1 -o warmup_epochs=0 -o hidden_dim=8 -o state_dim=8 --workers 1"
    for each in ([*train, *shlex.split(short)], *words):
        said = gmpool_cli(*each)
        assert said.code == 0, said.err
    said_of_new = pandas.read_csv("p.csv")
    columns = ["smiles", "logS", "pred_logS", "std_logS", "low_logS", "high_logS", "problem"]
    assert list(said_of_new.columns) == columns
    assert pandas.read_csv("predicted/2.csv")["pred_logS"].notna().all()
    assert ">logS<" in Path("scores.html").read_text()
    assert len(pandas.read_parquet("vectors.parquet")) == 240


def test_its_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rdkit")
    pandas = pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    block = next(block for block in blocks(PAGE) if "save_model" in block.text)
    *lines, last = block.text.strip().splitlines()
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)
    table = eval(last, names)
    assert isinstance(table, pandas.DataFrame)
    assert list(table.columns) == ["smiles", "logS", "pred_logS", "problem"]
    assert len(table) == 4


def test_its_splits_are_made(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    (block,) = (block for block in blocks(PAGE) if "inner_folds" in block.text)
    *lines, last = block.text.strip().splitlines()
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)
    assert [len(split.valid) for split in eval(last, names)] == [8] * 4
    assert len(names["dataset"].folds) == 10
    assert names["dataset"].split_kind["scaffolds"] == 5
    assert len(names["other"].folds[0].test) == 6


@pytest.mark.parametrize("number", range(4))
def test_its_commands_for_splits(
    number: int, gmpool_cli: Callable[..., Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rdkit")
    monkeypatch.chdir(tmp_path)
    rows = [f"{'C' * (n % 3 + 1)}C1{'C' * (n // 3 + 2)}1,{n % 2},{2000 + n}" for n in range(40)]
    Path("molecules.csv").write_text("\n".join(["smiles,active,assayed", *rows]))
    words = [words for words in commands(PAGE) if any("--split" in word for word in words)][number]
    short = "--label active -m mean -o epochs=1 -o hidden_dim=8 -o num_layers=1 --device cpu"
    said = gmpool_cli(*words, *shlex.split(short), "--json")
    assert said.code == 0, said.err
    assert json.loads(said.out)[0]["runs"] == (10 if "--folds" in words else 1)


def test_reactants_by_its_commands_and_its_python(
    gmpool_cli: Callable[..., Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("syntheseus")
    monkeypatch.chdir(tmp_path)
    write_csv(Path("reactions.csv"))
    prepare, train, predict = (words for words in commands(PAGE) if "retro" in words)
    short = "-o epochs=1 -o epoch_steps=2 -o message_dim=8 -o embed_dim=8"
    for words in ([*prepare, "--workers", "1"], [*train, *shlex.split(short)], predict):
        said = gmpool_cli(*words)
        assert said.code == 0, said.err
    assert Path("routes.html").read_text().startswith("<!doctype html>")
    (block,) = (block for block in blocks(PAGE) if "GLNModel" in block.text)
    *lines, last = block.text.strip().splitlines()
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)
    ((best, *_),) = eval(last, names)
    assert best.product.smiles == "CC(=O)Nc1ccccc1"


def test_new_molecules_by_its_commands_and_its_python(
    gmpool_cli: Callable[..., Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rdkit")
    monkeypatch.chdir(tmp_path)
    Path("molecules.csv").write_text("\n".join(["smiles", "CCO", "CCN", "CCC", "C=CO"]))
    train, sample = (words for words in commands(PAGE) if "generate" in words)
    short = "-o epochs=1 -o epoch_steps=5 -o draws=20"
    for words in ([*train, *shlex.split(short)], sample):
        said = gmpool_cli(*words)
        assert said.code == 0, said.err
    (block,) = (block for block in blocks(PAGE) if "sample(" in block.text)
    *lines, last = block.text.strip().splitlines()
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)
    columns, rows, about = eval(last, names)
    with open("new.csv", newline="") as file:
        written = list(csv.reader(file))
    assert written[0] == columns
    assert [row[0] for row in written[1:]] == [row[0] for row in rows]
    assert about[0].startswith("1,000 drawn: ")
