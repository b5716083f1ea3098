"""A task from another package: with no edit elsewhere it is trained in every way, goes on after a
kill, and has its own command and table."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from toy_task import TOY

from gmpool.engine.executors.executor import Alone, Executor
from gmpool.engine.executors.processes import Processes
from gmpool.engine.executors.stacked import Stacked
from gmpool.engine.job import Job
from gmpool.engine.run_jobs import run_jobs
from gmpool.engine.store import RunStore

ROOT = Path(__file__).parents[2]
PLAN = """
title = "Two imitations"
task = "toy"
datasets = ["circle"]
methods = ["wide", "narrow"]
seeds = 2
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Where a package is installed that has the task as an entry point."""
    site = tmp_path / "site"
    described = site / "imitation-1.0.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: imitation\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text("[gmpool.tasks]\ntoy = toy_task:TOY\n")
    (site / "toy_task.py").write_text((ROOT / "tests/helpers/toy_task.py").read_text())
    path = os.pathsep.join([str(site), str(ROOT)])
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "gmpool", *map(str, words)]


def done(environment: dict[str, str], *words: object) -> str:
    ended = subprocess.run(command(*words), env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.parametrize("executor", [Alone(), Processes(2), Stacked(replicas=3)], ids=str)
def test_every_way_to_run_gives_the_same(executor: Executor, tmp_path: Path) -> None:
    job = Job.make("toy", TOY.open("circle"), "wide", seeds=2)
    rows = run_jobs([job], RunStore(tmp_path / "here"), executor)
    single = run_jobs([job], RunStore(tmp_path / "alone"), Alone())
    assert [row.key for row in rows] == [row.key for row in single] == [r.key for r in job.runs]
    for mine, theirs in zip(rows, single, strict=True):
        assert mine.test == pytest.approx(theirs.test, rel=1e-9)
        assert mine.more["norm"] == pytest.approx(theirs.more["norm"], rel=1e-9)


def test_it_has_a_command_with_its_own_options(environment: dict[str, str], tmp_path: Path) -> None:
    store = tmp_path / "runs"
    said = done(environment, "imitate", "circle", "-m", "narrow", "--points", 30, "--store", store,
                "--device", "cpu", "--seeds", 2)  # fmt: skip
    assert "Imitations" in said
    assert "how far the middles are apart" in said
    rows = list(RunStore(store))
    assert {row.data_digest for row in rows} == {"points-circle-30"}
    assert len(rows) == 4, "two seeds of two splits"
    assert "imitate" in done(environment, "list", "tasks")


def test_a_plan_goes_on_after_a_kill_and_prints_its_table(
    environment: dict[str, str], tmp_path: Path
) -> None:
    plan, store = tmp_path / "plan.toml", tmp_path / "runs"
    plan.write_text(PLAN + "options = { epochs = 60 }\n")
    words = command("run", plan, "--store", store, "--device", "cpu")
    running = subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL)  # fmt: skip
    rows = store / "rows.jsonl"
    for _ in range(600):
        if rows.is_file() and rows.read_bytes().count(b"\n"):
            break
        time.sleep(0.1)
    running.send_signal(signal.SIGKILL)
    running.wait()
    before = rows.read_bytes()
    assert 0 < before.count(b"\n") < 8, "killed in the middle"
    cost = json.loads(done(environment, "run", plan, "--store", store, "--device", "cpu", "--json"))
    assert (cost["runs"], cost["recorded"]) == (8, 8)
    assert rows.read_bytes().startswith(before.rsplit(b"\n", 1)[0]), "what was there is untouched"
    assert len({row.key for row in RunStore(store)}) == len(list(RunStore(store))) == 8
    said = done(environment, "table", plan, "--store", store)
    assert "Two imitations" in said
    assert said.count("narrow") == 4
