"""`gmpool table` of a plan, as a user meets it."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_sets import FLAGS

from gmpool.engine.plan import read_plan
from gmpool.engine.store import RunStore
from gmpool.record import Row

Cli = Callable[..., Any]
PLAN = """
title = "Three lines"
paper = "test"
seeds = 2
folds = 1
datasets = ["MUTAG", "DD"]
methods = ["gmt", "mean"]

[[line]]
label = "one head"
method = "gmt"
options = { num_heads = 1 }
"""


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(PLAN)


def record(store: str, *, seeds: tuple[int, ...] = (42, 43), lines: int = 3) -> None:
    """Rows as if the first lines of the plan were trained."""
    for number, job in enumerate(read_plan("mine.toml").jobs()[: 2 * lines]):
        for run in job.runs:
            if run.seed not in seeds:
                continue
            RunStore(store).record(
                Row(
                    key=run.key,
                    task="classify",
                    dataset=job.name,
                    method=job.model.method,
                    seed=run.seed,
                    fold=run.fold,
                    metric="accuracy",
                    test=80.0 - number + (run.seed - 42) / 10,
                    valid=70.0,
                    valid_loss=0.5,
                    best_epoch=2,
                    epochs=3,
                    seconds=1.5,
                    parameters=1000,
                    curve={k: [1.0] for k in ("train_loss", "valid_loss", "valid_metric")},
                    config=job.config,
                    data_digest=job.card.digest,
                    split_digest=job.card.split_digests[0],
                    commit="abc",
                    versions={"python": "3.11"},
                    device="a CPU",
                )
            )


def test_on_the_terminal(gmpool_cli: Cli) -> None:
    record("runs")
    said = gmpool_cli("table", "mine.toml")
    assert said.code == 0, said.err
    for word in ("Three lines", "80.05 ± 0.07*", "83.44 ± 1.33, -3.39", "one head", "10/10"):
        assert word in said.out
    assert "12 of 12 runs" in said.out


def test_rows_of_several_stores(gmpool_cli: Cli) -> None:
    record("first", seeds=(42,))
    record("second", seeds=(42, 43))
    said = gmpool_cli(
        "table", "mine.toml", "--store", "first", "--store", "second/rows.jsonl", "--json"
    )
    assert [cell["runs"] for cell in json.loads(said.out)["cells"]] == [2] * 6


@pytest.mark.parametrize(
    ("suffix", "words"),
    [
        ("md", ("## Three lines", "**80.05 ± 0.07**")),
        ("tex", (r"\begin{tabular}", r"\textbf{")),
        ("csv", ("plan,line,method,dataset", "mine,gmt,gmt,MUTAG")),
        ("json", ('"critical_difference": ', '"average_rank": 1.0')),
        ("html", ("<!doctype html>", "data:image/png;base64,", "gmpool table mine.toml --out")),
    ],
)
def test_a_file_has_the_format_of_its_suffix(
    suffix: str, words: tuple[str, ...], gmpool_cli: Cli
) -> None:
    record("runs")
    said = gmpool_cli("table", "mine.toml", "--out", f"deep/table.{suffix}")
    assert (said.code, said.out) == (0, ""), said.err
    assert f"written: deep/table.{suffix}" in said.err
    text = Path(f"deep/table.{suffix}").read_text(encoding="utf-8")
    for word in words:
        assert word in text


def test_format_goes_before_suffix(gmpool_cli: Cli) -> None:
    record("runs")
    assert gmpool_cli("table", "mine.toml", "--format", "csv", "--out", "table.txt").code == 0
    printed = gmpool_cli("table", "mine.toml", "--format", "csv").out
    assert Path("table.txt").read_text() == printed
    assert len(list(csv.DictReader(io.StringIO(printed)))) == 6
    assert gmpool_cli("table", "mine.toml", "--format", "terminal", "--out", "t.txt").code == 0
    assert "80.05 ± 0.07*" in Path("t.txt").read_text()


def test_chosen_sets_and_lines(gmpool_cli: Cli) -> None:
    record("runs")
    words = ("--dataset", "DD", "--method", "one head", "--method", "mean", "--json")
    cells = json.loads(gmpool_cli("table", "mine.toml", *words).out)["cells"]
    assert [(cell["line"], cell["dataset"]) for cell in cells] == [
        ("mean", "DD"), ("one head", "DD"),
    ]  # fmt: skip
    assert [cell["best_or_comparable"] for cell in cells] == [True, False], "of those here"


def test_plots(gmpool_cli: Cli) -> None:
    record("runs")
    assert gmpool_cli("table", "mine.toml", "--plots", "pictures").code == 0
    names = sorted(path.name for path in Path("pictures").iterdir())
    assert names == ["critical-difference.png", "intervals.png"]
    said = gmpool_cli("table", "mine.toml", "--dataset", "DD", "--plots", "one")
    assert [path.name for path in Path("one").iterdir()] == ["intervals.png"]
    assert "There is no critical-difference diagram" in said.err


def test_lines_without_rows_are_shown(gmpool_cli: Cli) -> None:
    record("runs", lines=1)
    lines = gmpool_cli("table", "mine.toml", "--format", "markdown").out.splitlines()
    assert [line.split("|")[1].strip() for line in lines[4:7]] == ["gmt", "mean", "one head"]
    assert lines[5].split("|")[2].strip() == "– (paper 69.50 ± 1.78)"


def test_a_store_in_the_formats_of_a_plan(gmpool_cli: Cli) -> None:
    record("runs")
    latex = gmpool_cli("table", "--format", "latex").out
    assert r"MUTAG & mean & accuracy \%" in latex
    assert r"MUTAG & gmt (num\_heads=4) & accuracy \%" in latex, "there is one with one head, too"
    page = gmpool_cli("table", "runs", "--format", "html").out
    assert page.count("data:image/png;base64,") == 2, "a picture per set"
    assert gmpool_cli("table", "runs", "--out", "runs.md").code == 0
    assert Path("runs.md").read_text().startswith("| dataset | method |")


def test_a_store_goes_before_a_plan_of_the_same_name(gmpool_cli: Cli) -> None:
    record("quick")
    assert len(json.loads(gmpool_cli("table", "quick", "--json").out)) == 6
    Path("ablation").mkdir()
    assert "no run of the plan" in gmpool_cli("table", "ablation").err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("quick", "no run of the plan is recorded in runs; gmpool run quick --store runs records"),
        ("quick --store empty", "is recorded in empty; gmpool run quick --store empty"),
        ("quick --store no --store empty", "there is no run store no; gmpool run quick --store no"),
        ("tabel1", "unknown plan or run store 'tabel1'; did you mean 'table1'?"),
        ("no.toml", "no.toml cannot be read"),
        ("mine.toml --dataset DDD", "--dataset: unknown dataset of the plan 'DDD'; did you mean"),
        ("mine.toml --method gtm", "--method: unknown method of the plan 'gtm'; did you mean"),
        ("mine.toml --out table.pdf", "--out ends in .csv, .html, .json, .md, .tex, .txt, got"),
        ("full --store runs", "--store goes with a plan (gmpool list plans), and 'full' is none"),
        ("full --plots pictures", "--plots goes with a plan"),
        ("full --out mine.toml/t.md", "--out mine.toml/t.md: mine.toml is a file, not a folder"),
    ],
)
def test_mistakes(words: str, expected: str, gmpool_cli: Cli) -> None:
    Path("empty").mkdir()
    record("full")
    said = gmpool_cli("table", *words.split())
    assert (said.code, said.out) == (2, "")
    assert expected in said.err


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
    of_lines = [r for r in rows if not r["label_column"]]
    assert [(r["method"], r["runs"], r["std_over"]) for r in of_lines] == [
        ("gmt", "2", "folds"), ("mean", "2", "seeds"),
    ]  # fmt: skip
    assert [(r["method"], r["label_column"], r["metric"]) for r in rows[2:]] == [
        (method, "label", metric)
        for method in ("gmt", "mean")
        for metric in ("roc_auc", "pr_auc", "accuracy", "f1")
    ]
    said = gmpool_cli("table", "runs", "--json")
    assert [r["method"] for r in json.loads(said.out)] == ["gmt", "mean"]
    assert gmpool_cli("table", "--format", "json").out == said.out


def test_table_of_a_file_of_rows_and_of_chosen_methods(recorded: None, gmpool_cli: Cli) -> None:
    shutil.move("runs/rows.jsonl", "mutag.jsonl")
    found = json.loads(gmpool_cli("table", "mutag.jsonl", "--method", "mean", "--json").out)
    assert [(r["method"], r["runs"]) for r in found] == [("mean", 2)]
    assert json.loads(gmpool_cli("table", "mutag.jsonl", "--dataset", "MUTAG", "--json").out)
