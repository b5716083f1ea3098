"""Killed or stopped at any moment and started again, training ends with the same rows."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FOLDS = 10
WORDS = [
    "train", "MUTAG", "--method", "gmt", "--folds", str(FOLDS), "--device", "cpu", "--json",
    "-o", "epochs=8", "-o", "warmup_epochs=2", "-o", "hidden_dim=8",
]  # fmt: skip
# One thread on both sides, for the same bits.
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def start(store: Path, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "gmpool", *WORDS, *more, "--store", str(store)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        # A test run in the background may have been told to ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


@pytest.fixture
def finish(gmpool_cli: Callable[..., Any]) -> Callable[[Path], dict[str, Any]]:
    """The same command again, to its end."""

    def call(store: Path) -> dict[str, Any]:
        said = gmpool_cli(*WORDS, "--store", store)
        assert said.code == 0, said.err
        (summary,) = json.loads(said.out)
        return summary

    return call


def lines(store: Path) -> list[bytes]:
    path = store / "rows.jsonl"
    return path.read_bytes().splitlines(keepends=True) if path.exists() else []


def wait_for_rows(process: subprocess.Popen[str], store: Path, count: int) -> None:
    limit = time.monotonic() + 60
    while len(lines(store)) < count:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < limit, "no row appears"
        time.sleep(0.005)


def content(store: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in lines(store) if not line.endswith(b"#torn\n")]
    # A commit or an edit in the middle of the tests is no difference between the runs.
    return [
        {k: v for k, v in row.items() if k not in ("seconds", "commit", "source")} for row in rows
    ]


@pytest.fixture
def uninterrupted(tmp_path: Path, finish: Callable[[Path], Any]) -> list[dict[str, Any]]:
    assert finish(tmp_path / "uninterrupted")["runs"] == FOLDS
    return content(tmp_path / "uninterrupted")


def test_killed_at_a_random_moment(
    uninterrupted: list[dict[str, Any]], finish: Callable[[Path], Any], tmp_path: Path
) -> None:
    process = start(tmp_path)
    wait_for_rows(process, tmp_path, 1)
    time.sleep(random.uniform(0, 0.2))
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL, "it finished before it could be killed"
    before = lines(tmp_path)
    assert 1 <= len(before) < FOLDS + 1
    summary = finish(tmp_path)
    assert summary["runs"] == FOLDS
    after = lines(tmp_path)
    whole = [line for line in before if line.endswith(b"\n")]
    assert after[: len(whole)] == whole, "finished rows stay as they were"
    assert content(tmp_path) == uninterrupted, "the same rows, and none of them twice"


def test_ctrl_c_says_what_is_kept_and_loses_nothing(
    uninterrupted: list[dict[str, Any]], finish: Callable[[Path], Any], tmp_path: Path
) -> None:
    process = start(tmp_path)
    wait_for_rows(process, tmp_path, 2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    kept = len(lines(tmp_path))
    assert f"stopped: {kept} of {FOLDS} runs are recorded in {tmp_path}" in err
    assert "the same command goes on from there" in err
    assert "Traceback" not in err
    finish(tmp_path)
    assert content(tmp_path) == uninterrupted


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_who_started_them(
    how: signal.Signals,
    uninterrupted: list[dict[str, Any]],
    finish: Callable[[Path], Any],
    tmp_path: Path,
) -> None:
    process = start(tmp_path, "--workers", "2")
    wait_for_rows(process, tmp_path, 1)
    process.send_signal(how)
    # Whoever is left keeps its end of the pipes, and this waits for it.
    _, err = process.communicate(timeout=60)
    assert process.returncode == (130 if how == signal.SIGINT else -how)
    assert "Traceback" not in err
    finish(tmp_path)
    found = sorted(content(tmp_path), key=lambda row: row["fold"])
    assert found == uninterrupted, "processes do the same, in their own order"


def test_ctrl_c_while_workers_start_is_one_line(tmp_path: Path) -> None:
    """The signal is for who started them alone, as from `kill`, before any of them is there."""
    process = start(tmp_path / "runs", "--workers", "2")
    limit = time.monotonic() + 60
    while not any(b"forkserver" in words for words in children(process.pid)):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < limit
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)  # which waits for all who have its pipes
    assert (process.returncode, out) == (130, "")
    assert err.strip().splitlines()[-1].startswith(f"stopped: 0 of {FOLDS} runs are recorded")
    assert "Traceback" not in err
    assert not (tmp_path / "runs").exists()


def children(pid: int) -> list[bytes]:
    """The commands of those that a process has started."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            path = Path(f"/proc/{child}/cmdline")
            found += [path.read_bytes()] if path.exists() else []
    return found
