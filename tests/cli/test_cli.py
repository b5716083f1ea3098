"""The command line as a whole; how it meets a user's mistakes is in test_bad_input.py."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gmpool
from gmpool.pool import METHODS
from gmpool.tasks.task import TASKS

Cli = Callable[..., Any]


def test_version_and_help(gmpool_cli: Cli) -> None:
    said = gmpool_cli("--version")
    assert (said.code, said.out) == (0, f"{gmpool.__version__}\n")
    for words, expected in {
        (): "train",
        ("train",): "--save-model",
        ("predict",): "--skip-bad-rows",
        ("table",): "--format",
        ("list",): "presets",
        ("bench",): "--record",
        ("run",): "--dry-run",
        ("store",): "rekey",
        ("store", "rekey"): "--dry-run",
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
    found = [row["name"] for row in json.loads(done.stdout) if row["task"] == "classify"]
    assert found == list(METHODS)


def test_every_task_with_a_verb_has_a_command(gmpool_cli: Cli) -> None:
    text = gmpool_cli("--help").out
    ours = [TASKS[n] for n in TASKS if type(TASKS[n]).__module__.startswith("gmpool.tasks.")]
    for task in ours:
        assert task.verb is None or task.verb in text
    assert {task.verb for task in ours} == {None, "train", "reconstruct"}
