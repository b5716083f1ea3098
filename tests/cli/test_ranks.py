"""`torchrun --nproc-per-node 2 -m gmpool train …`: one training by two processes, of which either
may be lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from own_set import write_set

from gmpool.engine import unfinished
from gmpool.engine.executors.shared import how_it_begins
from gmpool.engine.group import LOST, join_group
from gmpool.engine.unfinished import FOLDER, Unfinished
from gmpool.errors import StoreError, UserError

EPOCHS = 80
WORDS = [
    "-m", "gmt", "-o", "hidden_dim=8", "-o", "warmup_epochs=1", "-o", "patience=none",
    "--folds", "1",
]  # fmt: skip


def torchrun(*words: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    return subprocess.Popen(
        [*command, "-m", "gmpool", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def train(data: Path, store: Path, epochs: int) -> subprocess.Popen[str]:
    return torchrun("train", data, *WORDS, "-o", f"epochs={epochs}", "--store", store)


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """(how, what it said to programs, and to people)"""
    try:
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    return process.returncode, out, err


def the_row(store: Path) -> dict[str, Any]:
    (line,) = (store / "rows.jsonl").read_text().splitlines()
    row: dict[str, Any] = json.loads(line)
    return {k: v for k, v in row.items() if k not in ("seconds", "commit", "source")}


def ranks_of(process: subprocess.Popen[str]) -> dict[int, int]:
    """The processes that torchrun has begun, by rank."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    found = {}
    for child in children:
        words = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        rank = next((w for w in words if w.startswith(b"RANK=")), None)
        if rank:
            found[int(rank[5:])] = int(child)
    return found


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_set(tmp_path_factory.mktemp("sets") / "SHAPES", count=60)


@pytest.fixture(scope="module")
def uninterrupted(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    store = tmp_path_factory.mktemp("store")
    code, _, err = ended(train(data, store, EPOCHS))
    assert code == 0, err
    assert not list((store / FOLDER).iterdir())
    return the_row(store)


def test_the_row_says_how_many_did_it(uninterrupted: dict[str, Any]) -> None:
    assert (uninterrupted["ranks"], uninterrupted["epochs"]) == (2, EPOCHS)


@pytest.mark.parametrize("lost", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_a_killed_rank_ends_all_with_a_sentence_and_the_command_goes_on(
    lost: int, data: Path, uninterrupted: dict[str, Any], tmp_path: Path
) -> None:
    process = train(data, tmp_path, EPOCHS)
    limit = time.monotonic() + 60
    while not (tmp_path / FOLDER).is_dir() or not list((tmp_path / FOLDER).glob("*.safetensors")):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < limit, "no epoch is kept"
        time.sleep(0.005)
    os.kill(ranks_of(process)[lost], signal.SIGKILL)
    code, _, err = ended(process)
    assert code != 0
    assert err.count(LOST) == 1, err
    assert "[rank" not in err, "no traceback of ours: torchrun adds its own"
    assert not (tmp_path / "rows.jsonl").exists()
    code, _, err = ended(train(data, tmp_path, EPOCHS))
    assert code == 0, err
    assert "goes on after epoch" in err
    assert the_row(tmp_path) == uninterrupted
    assert not list((tmp_path / FOLDER).iterdir())


def test_a_mistake_is_told_once(data: Path, tmp_path: Path) -> None:
    _, _, err = ended(torchrun("train", data, "--workers", "2", "--store", tmp_path))
    assert err.count("error: --workers is another way than torchrun") == 1, err
    assert LOST not in err


def test_who_was_not_begun_by_torchrun_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("LOCAL_RANK", "0")
    for name in ("MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(
        UserError, match="MASTER_ADDR, MASTER_PORT is missing: begin them by torchrun"
    ):
        join_group()


def test_what_cannot_be_gone_on_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = Unfinished(tmp_path, "abc")
    assert file.read() is None
    file.path.write_bytes(b"torn")
    with pytest.raises(StoreError, match="remove it, and the training begins anew"):
        file.read()
    file.write({})
    assert file.read() == {}
    assert how_it_begins(file, {"curve": torch.zeros(3, 3)}) == "goes on after epoch 3"
    monkeypatch.setattr(unfinished, "source_digest", lambda: "another")
    said = how_it_begins(file, file.read())
    assert said is not None
    assert said.startswith("begins anew")
    assert "abc.safetensors was kept by another version" in said
    monkeypatch.undo()
    other = Unfinished(tmp_path, "other")
    assert how_it_begins(other, other.read()) is None
    file.path.rename(other.path)
    assert other.read() is None, "of another run"
