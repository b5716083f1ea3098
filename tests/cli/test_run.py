"""`gmpool run` as a user meets it; what a plan may say is in engine/test_plan.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import two_lines
from small_sets import OPTIONS
from two_lines import RUN, TWO_LINES, Cli, rows

from gmpool.engine import run_jobs
from gmpool.engine.plan import read_plan
from gmpool.tasks import graph_task

in_tmp_path = two_lines.in_tmp_path
PLAN = """
title = "small"
task = "reconstruct"
seeds = 2
datasets = ["ring"]
methods = ["gmt"]
ratios = [0.1, 0.25]
objectives = ["x", "a"]
options = { epochs = 2, hidden_dim = 8 }

[[line]]
method = "topk"
options = { objective = "x" }
"""


def cells(text: str, line: str) -> list[str]:
    """The cells of one line of a table on the terminal."""
    (found,) = [shown for shown in text.splitlines() if line in shown and "│" in shown]
    return [cell.strip() for cell in found.strip("│").split("│")]


def test_a_dry_run_shows_the_work_and_does_none(gmpool_cli: Cli) -> None:
    said = gmpool_cli(*RUN, "--dry-run")
    assert said.code == 0
    counted, labels, folds = said.err.splitlines()
    assert counted.startswith("SHAPES: 24 graphs")
    assert "2 classes: 12 '0', 12 '1'" in labels
    assert folds.startswith("folds: 10 (stratified")
    assert "Two [lines]" in said.out
    assert cells(said.out, "mean") == ["mean", "SHAPES", "4", "0", "4", "unknown"]
    assert cells(said.out, "one head") == ["one head", "SHAPES", "4", "0", "4", "unknown"]
    assert cells(said.out, "total") == ["total", "", "8", "0", "8", "unknown"]
    assert not Path("runs").exists()


def test_all_runs_are_done_once(gmpool_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    said = gmpool_cli(*RUN)
    assert said.code == 0, said.err
    assert [(r["method"], r["seed"], r["fold"]) for r in rows()] == [
        (method, seed, fold) for method in ("mean", "gmt") for seed in (42, 43) for fold in (1, 2)
    ]
    assert rows()[-1]["config"]["model"]["pool"]["num_heads"] == 1
    assert said.err.count("epochs, ") == 8
    assert "one head:\n" in said.err
    assert "8 of 8 runs are recorded in runs\n" in said.err
    assert "gmpool table p.toml --store runs" in said.err

    monkeypatch.setattr(run_jobs, "run_jobs", None)
    again = gmpool_cli(*RUN)
    assert again.code == 0, again.err
    assert cells(again.out, "total") == ["total", "", "8", "8", "0", "–"]
    assert len(rows()) == 8


def test_the_same_runs_as_gmpool_train(gmpool_cli: Cli) -> None:
    flags = [word for key, value in OPTIONS.items() for word in ("-o", f"{key}={value}")]
    words = ("train", "own", "-m", "mean", "--folds", 1, "--seeds", 2, "--device", "cpu", *flags)
    assert gmpool_cli(*words).code == 0
    said = gmpool_cli(*RUN, "--method", "mean", "--json")
    assert said.code == 0, said.err
    assert said.err.count("recorded before") == 2
    assert json.loads(said.out)["recorded"] == 4
    assert len(rows()) == 4


def test_what_is_to_do_costs_time(gmpool_cli: Cli) -> None:
    assert gmpool_cli(*RUN, "--method", "mean", "--seeds", 1).code == 0
    each = sum(row["seconds"] for row in rows()) / 2
    said = gmpool_cli(*RUN, "--dry-run")
    assert cells(said.out, "mean")[2:] == ["4", "2", "2", f"{2 * each:.1f} s"]
    assert cells(said.out, "total")[2:] == ["8", "2", "6", f"{2 * each:.1f} s and more"]
    said = gmpool_cli(*RUN, "--dry-run", "--json")
    assert len(said.err.splitlines()) == 3
    found = json.loads(said.out)
    assert (found["plan"], found["store"], found["failures"]) == ("p", "runs", [])
    assert (found["runs"], found["recorded"], found["to_do"]) == (8, 2, 6)
    assert found["cells"][0] == {
        "line": "mean", "method": "mean", "dataset": "SHAPES", "runs": 4, "recorded": 2,
        "to_do": 2, "expected_seconds": pytest.approx(2 * each),
    }  # fmt: skip
    assert found["cells"][1]["expected_seconds"] is None
    Path("p.toml").write_text(TWO_LINES.replace("epochs = 3", "epochs = 3000"))
    said = gmpool_cli(*RUN, "--dry-run", "--method", "mean")
    assert "about " in cells(said.out, "mean")[-1]


def test_what_is_done_does_not_make_the_rest_look_free(gmpool_cli: Cli) -> None:
    assert gmpool_cli(*RUN, "--method", "mean").code == 0
    said = gmpool_cli(*RUN, "--dry-run")
    assert cells(said.out, "mean")[2:] == ["4", "4", "0", "–"]
    assert cells(said.out, "total")[2:] == ["8", "4", "4", "unknown"]


def test_a_stack_of_runs_through_the_command(gmpool_cli: Cli) -> None:
    said = gmpool_cli(*RUN, "--replicas", 3)
    assert said.code == 0, said.err
    assert [row["replicas"] for row in rows()] == [3, 3, 3, 1, 3, 3, 3, 1]
    alone = gmpool_cli(*RUN, "--store", "one-by-one")
    assert alone.code == 0, alone.err
    lines = Path("one-by-one/rows.jsonl").read_text().splitlines()
    for stacked, single in zip(rows(), map(json.loads, lines), strict=True):
        assert stacked["key"] == single["key"]
        assert stacked["test"] == single["test"]
        assert stacked["valid_loss"] == pytest.approx(single["valid_loss"], rel=1e-4)
    for words, told in (
        (("--replicas", "zero"), "--replicas takes auto or a number"),
        (("--tf32",), "--tf32 is for a GPU"),
    ):
        refused = gmpool_cli(*RUN, *words)
        assert refused.code == 2
        assert told in refused.err


def test_a_method_that_cannot_be_stacked_says_so(gmpool_cli: Cli) -> None:
    Path("p.toml").write_text(TWO_LINES.replace('"mean"', '"asap"'))
    said = gmpool_cli(*RUN, "--replicas", "auto", "--method", "asap")
    assert said.code == 0, said.err
    assert "asap on SHAPES runs one at a time: the shapes of asap depend on the data" in said.err
    assert {row["replicas"] for row in rows()} == {1}


def test_only_a_part_of_a_plan(gmpool_cli: Cli) -> None:
    text = TWO_LINES.replace('["own"]', '["MUTAG", "own"]').replace('"mean"', '"mean", "gmt"')
    Path("p.toml").write_text(text)

    def chosen(*words: object) -> list[tuple[str, str]]:
        found = json.loads(gmpool_cli(*RUN, "--dry-run", "--json", *words).out)
        return [(cell["line"], cell["dataset"]) for cell in found["cells"]]

    assert len(chosen()) == 6
    assert chosen("--dataset", "SHAPES", "--method", "mean") == [("mean", "SHAPES")]
    assert chosen("--dataset", "MUTAG", "--method", "gmt") == [
        ("gmt", "MUTAG"), ("one head", "MUTAG"),
    ]  # fmt: skip
    assert {line for line, _ in chosen("--method", "one head")} == {"one head"}
    assert len(chosen("--dataset", "MUTAG", "--dataset", "SHAPES")) == 6


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("run tabel1", ("unknown plan 'tabel1'", "did you mean 'table1'?", ".toml")),
        ("run p.toml --dataset SHAPE", ("--dataset", "'SHAPE'", "'SHAPES'?")),
        ("run p.toml --method gtm", ("--method", "'gtm'", "'gmt'?", "one head")),
        ("run p.toml --seeds 0", ("--seeds must be at least 1, got 0",)),
        ("run p.toml --device gpu", ("--device takes cpu, cuda or auto, got 'gpu'",)),
        ("run bad.toml", ("bad.toml: line 'mean' on SHAPES: unknown option 'nothing'",)),
        ("run other.toml", ("other.toml: folds is for task = 'classify', and this is",)),
    ],
)
def test_a_mistake_is_told_before_anything_runs(
    words: str, says: tuple[str, ...], gmpool_cli: Cli
) -> None:
    Path("bad.toml").write_text(TWO_LINES + "nothing = 1\n")
    Path("other.toml").write_text(PLAN.replace("seeds = 2", "folds = 2"))
    said = gmpool_cli(*words.split())
    assert (said.code, said.out) == (2, "")
    for word in says:
        assert word in said.err
    assert "Traceback" not in said.err
    assert not Path("runs").exists()


def test_each_set_is_loaded_once(gmpool_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("p.toml").write_text(TWO_LINES.replace('["own"]', '["MUTAG"]'))
    true, asked = graph_task.load, []

    def load(name: str, root: Path | None, **options: object) -> Any:
        asked.append((name, root))
        return true(name, root, **options)

    monkeypatch.setattr(graph_task, "load", load)
    said = gmpool_cli(*RUN, "--seeds", 1, "--data", "somewhere")
    assert said.code == 0
    assert said.err.count("MUTAG: 188 graphs") == 1, "and told once what it is"
    assert asked == [("MUTAG", Path("somewhere"))]
    assert len(rows()) == 4


def test_changed_data_are_other_runs(gmpool_cli: Cli) -> None:
    words = (*RUN, "--method", "mean")
    assert gmpool_cli(*words).code == 0
    labels = Path("own/SHAPES_graph_labels.txt")
    labels.write_text(labels.read_text().replace("0\n1\n", "1\n0\n", 1))
    said = gmpool_cli(*words)
    assert cells(said.out, "mean")[2:5] == ["4", "0", "4"]
    assert len(rows()) == 8


def test_help(gmpool_cli: Cli) -> None:
    said = gmpool_cli("run", "--help")
    assert said.code == 0
    assert "--dry-run" in said.out


@pytest.mark.parametrize(("given", "said"), [("2", "is for a GPU"), ("0", "from 1 on, got 0")])
def test_programs_side_by_side_need_a_gpu(gmpool_cli: Cli, given: str, said: str) -> None:
    refused = gmpool_cli(*RUN, "--side-by-side", given)
    assert refused.code == 2
    assert said in refused.err


def test_a_plan_of_another_task_with_its_models_and_pictures(gmpool_cli: Cli) -> None:
    Path("mine.toml").write_text(PLAN)
    said = gmpool_cli("run", "mine.toml", "--device", "cpu", "--replicas", "auto", "--keep-models")
    assert said.code == 0, said.err
    assert "12 of 12 runs are recorded" in said.err
    assert [line.label for line in read_plan("mine.toml").lines] == [
        "gmt 10% min x", "gmt 10% min a", "gmt 25% min x", "gmt 25% min a", "topk 10%", "topk 25%"
    ]  # fmt: skip
    keys = {run.key for job in read_plan("mine.toml").jobs() for run in job.runs}
    assert keys == {row["key"] for row in rows()}
    assert {path.name for path in Path("runs/models").iterdir()} == keys
    again = gmpool_cli("run", "mine.toml", "--device", "cpu", "--json")
    assert json.loads(again.out)["to_do"] == 0
    table = gmpool_cli("table", "mine.toml", "--plots", "plots", "--format", "csv")
    assert len(table.out.splitlines()) == 1 + 2 * 6
    assert Path("plots/clouds.png").is_file()
    page = gmpool_cli("table", "mine.toml", "--out", "table.html")
    assert page.code == 0, page.err
    assert "data:image/png;base64," in Path("table.html").read_text(encoding="utf-8")


def test_models_are_kept_of_runs_that_are_recorded_already(gmpool_cli: Cli) -> None:
    words = (*RUN, "--method", "mean")
    assert gmpool_cli(*words).code == 0
    said = gmpool_cli(*words, "--keep-models")
    assert said.code == 0, said.err
    assert said.err.count("epochs, ") == 4
    assert len(rows()) == 4, "recorded once"
    kept = {path.name for path in Path("runs/models").iterdir()}
    assert kept == {row["key"] for row in rows()}
    assert gmpool_cli(*words, "--keep-models").err.count("recorded before") == 4


def test_a_method_without_weights_is_refused_before_anything_runs(gmpool_cli: Cli) -> None:
    text = TWO_LINES.replace('["mean"]', '["mean", "wl-svm"]').replace("[options]", "[unused]")
    Path("p.toml").write_text(text.split("[unused]")[0])
    said = gmpool_cli(*RUN, "--keep-models")
    assert said.code == 2
    assert "wl-svm has no weights to save" in said.err
    assert not Path("runs").exists()
