from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gmpool.config import ModelConfig, RunSpec, TrainConfig
from gmpool.engine.store import RunStore
from gmpool.errors import StoreError


def row(key: str, **values: object) -> dict[str, object]:
    return {"key": key, "test": 81.25, "curve": {"train_loss": [0.7, None]}, **values}


def test_what_is_recorded_is_found_again(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "deep" / "runs")
    assert store.finished() == {}
    store.record(row("a"))
    store.record(row("b", note="ünï\n"))
    assert RunStore(store.folder).finished() == {"a": row("a"), "b": row("b", note="ünï\n")}
    assert [json.loads(line)["key"] for line in store.path.read_text().splitlines()] == ["a", "b"]


def test_of_two_rows_with_one_key_the_first_counts(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    store.record(row("a", test=1.0))
    store.record(row("a", test=2.0))
    assert store.finished()["a"]["test"] == 1.0


@pytest.mark.parametrize("length", [1, 5, 30])
def test_a_torn_last_line_is_skipped_and_the_next_record_repairs(
    length: int, tmp_path: Path
) -> None:
    store = RunStore(tmp_path)
    store.record(row("a"))
    whole = store.path.read_bytes()
    store.path.write_bytes(whole + whole.replace(b'"a"', b'"lost"')[:length])
    assert list(store.finished()) == ["a"]
    store.record(row("b"))
    store.record(row("c"))
    assert list(store.finished()) == ["a", "b", "c"]
    assert store.path.read_bytes().startswith(whole)


def test_a_row_that_lacks_only_its_line_end_is_never_lost(tmp_path: Path) -> None:
    """Readers count it, so the next writer must not take it for a torn one."""
    store = RunStore(tmp_path)
    store.record(row("a"))
    store.path.write_bytes(store.path.read_bytes().removesuffix(b"\n"))
    assert list(store.finished()) == ["a"]
    store.record(row("b"))
    assert store.finished() == {"a": row("a"), "b": row("b")}


@pytest.mark.parametrize("bad", [b"{broken", b"\xff\xfe", b"[1]", b'{"test": 1}'])
def test_a_corrupt_line_in_the_middle_is_named(bad: bytes, tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    store.record(row("a"))
    store.path.write_bytes(store.path.read_bytes() + bad + b"\n")
    store.record(row("b"))
    with pytest.raises(StoreError, match=r"rows\.jsonl:2: not a row .*remove that line"):
        store.finished()


def test_a_store_that_cannot_be_read_is_an_error_not_an_empty_store(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").mkdir()
    with pytest.raises(StoreError, match=r"rows\.jsonl cannot be read"):
        RunStore(tmp_path).finished()


WRITER = """
import sys
from pathlib import Path
from gmpool.engine.store import RunStore
store = RunStore(Path(sys.argv[1]))
for number in range(40):
    store.record({"key": f"{sys.argv[2]}-{number}", "padding": "x" * 5000})
"""


def test_several_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen([*command, name]) for name in ("a", "b")]
    store = RunStore(tmp_path)
    mine = 0
    while any(writer.poll() is None for writer in writers):
        assert sum(row["key"][0] == "c" for row in store) == mine
        store.record({"key": f"c-{mine}", "padding": "x" * 5000})
        mine += 1
        time.sleep(0.02)
    assert [writer.wait() for writer in writers] == [0, 0]
    keys = [row["key"] for row in store]
    assert len(keys) == len(set(keys))
    assert len(keys) == 80 + mine
    assert {k for k in keys if k[0] != "c"} == {f"{n}-{i}" for n in "ab" for i in range(40)}


@pytest.mark.parametrize("fail_at", [1, 2])
def test_a_full_disk_takes_the_partial_row_back(
    fail_at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RunStore(tmp_path)
    store.record(row("a"))
    before = store.path.read_bytes()
    write, calls = os.write, 0

    def full(descriptor: int, data: bytes) -> int:
        nonlocal calls
        calls += 1
        if calls == fail_at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, data[:7])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(StoreError, match=r"No space left on device.*untouched.*--store"):
            store.record(row("b"))
    assert store.path.read_bytes() == before
    store.record(row("b"))
    assert store.finished() == {"a": row("a"), "b": row("b")}


LIMITED = """
import resource, sys
from pathlib import Path
from gmpool.engine.store import RunStore
from gmpool.errors import StoreError
store = RunStore(Path(sys.argv[1]))
store.record({"key": "a", "padding": "x" * 500})
resource.setrlimit(resource.RLIMIT_FSIZE, (900, resource.RLIM_INFINITY))
try:
    store.record({"key": "b", "padding": "x" * 500})
except StoreError as error:
    print(error)
"""


def test_a_file_that_may_not_grow_keeps_its_rows(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert "File too large" in done.stdout
    assert f"{tmp_path / 'rows.jsonl'}" in done.stdout
    lines = (tmp_path / "rows.jsonl").read_text().splitlines()
    assert [json.loads(line)["key"] for line in lines] == ["a"]


SPEC = RunSpec(
    task="classify",
    dataset="MUTAG",
    data_digest="d",
    model=ModelConfig(pool={"num_heads": 4}),
    train=TrainConfig(),
    seed=42,
    fold=1,
    split_digest="s",
)
CHANGES = {
    "task": "other",
    "dataset": "DD",
    "data_digest": "e",
    "seed": 43,
    "fold": 2,
    "split_digest": "t",
    "model.method": "mean",
    "model.hidden_dim": 64,
    "model.num_layers": 2,
    "model.conv": "gin",
    "model.dropout": 0.1,
    "model.pool": {"num_heads": 2},
    "train.batch_size": 64,
    "train.lr": 1e-3,
    "train.weight_decay": 0.0,
    "train.epochs": 100,
    "train.patience": None,
    "train.warmup_epochs": 10,
    "train.clip_norm": 2.0,
    "train.select_by": "metric",
}


def changed(path: str, value: object) -> RunSpec:
    part, _, name = path.rpartition(".")
    if not part:
        return replace(SPEC, **{name: value})
    return replace(SPEC, **{part: replace(getattr(SPEC, part), **{name: value})})


def test_the_key_is_the_same_in_every_session() -> None:
    assert SPEC.key == replace(SPEC).key == "a825bfbfab27b6a47e4f"


def test_every_field_changes_the_key() -> None:
    top = set(SPEC.__dataclass_fields__) - {"model", "train"}
    inner = {f"{part}.{f}" for part in ("model", "train") for f in getattr(SPEC, part).__dict__}
    assert set(CHANGES) == top | inner, "a new field needs a line here"
    keys = {changed(path, value).key for path, value in CHANGES.items()}
    assert len(keys | {SPEC.key}) == len(CHANGES) + 1
