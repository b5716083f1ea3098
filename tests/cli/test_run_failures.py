"""`gmpool run` when something goes wrong: the rest is done, and what is done is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import two_lines
from two_lines import RUN, TWO_LINES, Cli, rows

from gmpool.engine.executors import executor
from gmpool.errors import MissingPackage

in_tmp_path = two_lines.in_tmp_path


def test_a_line_that_diverges_does_not_stop_the_others(gmpool_cli: Cli) -> None:
    bad = '[[line]]\nlabel = "wild"\nmethod = "mean"\noptions = { lr = 1e30, warmup_epochs = 0 }\n'
    Path("p.toml").write_text(TWO_LINES.replace("[[line]]", f"{bad}[[line]]", 1))
    said = gmpool_cli(*RUN, "--json")
    assert said.code == 2
    assert "failed: wild on SHAPES, 4 of 4 run(s), the first with seed 42 fold 1: the" in said.err
    assert "try a smaller lr than 1e+30" in said.err
    assert "8 of 12 runs are recorded in runs; the same command tries the others" in said.err
    assert "Traceback" not in said.err
    found = json.loads(said.out)
    assert (found["recorded"], found["to_do"]) == (8, 4)
    (failure,) = found["failures"]
    assert (failure["line"], failure["dataset"], failure["runs"]) == ("wild", "SHAPES", 4)
    assert [row["method"] for row in rows()] == ["mean"] * 4 + ["gmt"] * 4


def test_one_failing_run_does_not_stop_its_line(
    gmpool_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    true, calls = executor.train, []

    def sometimes(*args: Any, **options: Any) -> Any:
        calls.append(options["seed"])
        if len(calls) == 2:
            raise MissingPackage("grakel", "demo", "this run")
        return true(*args, **options)

    monkeypatch.setattr(executor, "train", sometimes)
    said = gmpool_cli(*RUN, "--method", "mean")
    assert said.code == 2
    assert "failed: mean on SHAPES, 1 of 4 run(s), the first with seed 42 fold 2:" in said.err
    assert 'pip install "gmpool[demo]"' in said.err
    assert [(row["seed"], row["fold"]) for row in rows()] == [(42, 1), (43, 1), (43, 2)]
    assert gmpool_cli(*RUN, "--method", "mean").code == 0, "the second time it works"
    assert len(rows()) == 4


def test_a_set_that_is_not_there_does_not_stop_the_others(gmpool_cli: Cli) -> None:
    Path("p.toml").write_text(TWO_LINES.replace('["own"]', '["ogbg-molbbbp", "own"]'))
    said = gmpool_cli(*RUN)
    assert said.code == 2
    assert "failed: mean on ogbg-molbbbp, 2 of 2 run(s): dataset 'ogbg-molbbbp': no" in said.err
    assert "failed: one head on ogbg-molbbbp" in said.err
    assert {row["dataset"] for row in rows()} == {"SHAPES"}
    assert len(rows()) == 8


def test_ctrl_c_says_what_is_kept(gmpool_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    true, calls = executor.train, []

    def interrupted(*args: Any, **options: Any) -> Any:
        calls.append(options["seed"])
        if len(calls) == 4:
            raise KeyboardInterrupt
        return true(*args, **options)

    with monkeypatch.context() as patched:
        patched.setattr(executor, "train", interrupted)
        said = gmpool_cli(*RUN)
    assert said.code == 130
    assert "stopped: 3 of 8 runs are recorded in runs" in said.err
    assert "the same command goes on from there" in said.err
    assert "Traceback" not in said.err
    before = rows()
    assert gmpool_cli(*RUN).code == 0
    assert rows()[:3] == before
    assert len({row["key"] for row in rows()}) == len(rows()) == 8
