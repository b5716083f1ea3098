"""The command line as a whole; how it meets a user's mistakes is in test_bad_input.py."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import gmpool
from gmpool import __main__ as entry
from gmpool.errors import UserError
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


def test_the_version_is_told_before_anything_heavy_is_imported() -> None:
    code = (
        "import runpy, sys; sys.argv[1:] = ['--version']; "
        "runpy.run_module('gmpool', run_name='__main__'); "
        "assert not {'torch', 'numpy', 'typer'} & sys.modules.keys()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{gmpool.__version__}\n", "")


def test_what_the_package_offers_is_there_when_it_is_asked_for() -> None:
    assert set(gmpool.__all__) <= set(dir(gmpool))
    for name in gmpool.__all__:
        assert getattr(gmpool, name).__name__ == name
    assert gmpool.errors.UserError is UserError
    assert not hasattr(gmpool, "no_such_thing")


def test_ctrl_c_while_the_command_line_is_imported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "argv", ["gmpool", "train", "MUTAG"])
    monkeypatch.setattr(entry, "import_module", interrupted)
    with pytest.raises(SystemExit) as end:
        entry.main()
    assert (end.value.code, capsys.readouterr().err) == (130, "\nstopped\n")


@pytest.mark.parametrize(
    ("given", "spins"),
    [({}, "1000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "PASSIVE"}, None)],
    ids=str,
)
def test_threads_that_wait_soon_sleep_unless_the_user_says_otherwise(
    given: dict[str, str], spins: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str | None] = []
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["gmpool", "list"])
    command = SimpleNamespace(main=lambda: seen.append(os.environ.get("GOMP_SPINCOUNT")))
    monkeypatch.setattr(entry, "import_module", lambda name: command)
    entry.main()
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    assert seen == [spins]


def test_ctrl_c_while_a_plan_is_read(gmpool_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gmpool.cli.run.read_plan", interrupted)
    said = gmpool_cli("run", "table1", "--dry-run")
    assert (said.code, said.out, said.err.strip()) == (130, "", "stopped")


def test_shells_can_complete(gmpool_cli: Cli) -> None:
    assert "--show-completion" in gmpool_cli("--help").out


def test_every_task_with_a_verb_has_a_command(gmpool_cli: Cli) -> None:
    text = gmpool_cli("--help").out
    ours = [TASKS[n] for n in TASKS if type(TASKS[n]).__module__.startswith("gmpool.tasks.")]
    for task in ours:
        assert task.verb is None or task.verb.split()[0] in text
        if task.makes_samples:
            group, verb = str(task.verb).split()
            inner = gmpool_cli(group, "--help").out
            assert verb in inner
            assert "sample" in inner
    verbs = {None, "train", "reconstruct", "generate train", "retro train"}
    assert {task.verb for task in ours} == verbs
