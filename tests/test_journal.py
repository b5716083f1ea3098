"""A journal survives kills, full disks and several writers."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gmpool.errors import StoreError
from gmpool.journal import Journal


def row(key: str, **values: object) -> dict[str, object]:
    return {"key": key, "test": 81.25, "curve": {"train_loss": [0.7, None]}, **values}


def entries(journal: Journal) -> list[dict[str, Any]]:
    return [entry for _, entry in journal]


def keys(journal: Journal) -> list[str]:
    return [entry["key"] for entry in entries(journal)]


def test_what_is_recorded_is_found_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "deep" / "rows.jsonl")
    assert entries(journal) == []
    journal.append(row("a"))
    journal.append(row("b", note="ünï\n"))
    assert entries(Journal(journal.path)) == [row("a"), row("b", note="ünï\n")]
    assert [json.loads(line)["key"] for line in journal.path.read_text().splitlines()] == ["a", "b"]


@pytest.mark.parametrize("length", [1, 5, 30])
def test_a_torn_last_line_is_skipped_and_the_next_record_repairs(
    length: int, tmp_path: Path
) -> None:
    journal = Journal(tmp_path / "rows.jsonl")
    journal.append(row("a"))
    whole = journal.path.read_bytes()
    journal.path.write_bytes(whole + whole.replace(b'"a"', b'"lost"')[:length])
    assert keys(journal) == ["a"]
    journal.append(row("b"))
    journal.append(row("c"))
    assert keys(journal) == ["a", "b", "c"]
    assert journal.path.read_bytes().startswith(whole)


def test_a_row_that_lacks_only_its_line_end_is_never_lost(tmp_path: Path) -> None:
    """Readers count it, so the next writer must not take it for a torn one."""
    journal = Journal(tmp_path / "rows.jsonl")
    journal.append(row("a"))
    journal.path.write_bytes(journal.path.read_bytes().removesuffix(b"\n"))
    assert keys(journal) == ["a"]
    journal.append(row("b"))
    assert entries(journal) == [row("a"), row("b")]


BAD = {
    "broken": b"{broken",
    "no text": b"\xff\xfe",
    "half a character": b'{"key": "\\ud800"}',
    "half a character as bytes": b'{"key": "\xed\xa0\x80"}',
    "deep": b'{"key": "a", "x": ' + b"[" * 200_000,
    "long": b'{"key": "a", "x": 1' + b"0" * 5000 + b"}",
    "a list": b"[1]",
    "no key": b'{"test": 1}',
    "a key of another kind": b'{"key": [1]}',
}


@pytest.mark.parametrize("bad", BAD.values(), ids=list(BAD))
def test_a_corrupt_line_in_the_middle_is_named(bad: bytes, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "rows.jsonl")
    journal.append(row("a"))
    journal.path.write_bytes(journal.path.read_bytes() + bad + b"\n")
    journal.append(row("b"))
    with pytest.raises(StoreError, match=r"rows\.jsonl:2: not a row .*remove that line"):
        entries(journal)


def test_a_journal_that_cannot_be_read_is_an_error_not_an_empty_journal(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").mkdir()
    with pytest.raises(StoreError, match=r"rows\.jsonl cannot be read"):
        list(Journal(tmp_path / "rows.jsonl"))


def test_numbers_that_json_does_not_have_are_not_written_and_read_as_nothing(
    tmp_path: Path,
) -> None:
    journal = Journal(tmp_path / "rows.jsonl")
    with pytest.raises(ValueError, match="not JSON compliant"):
        journal.append(row("a", test=float("inf")))
    assert not journal.path.exists()
    journal.path.write_text('{"key": "a", "test": Infinity, "valid": NaN}\n')
    assert entries(journal) == [{"key": "a", "test": None, "valid": None}]


WRITER = """
import sys
from gmpool.journal import Journal
journal = Journal(sys.argv[1])
for number in range(40):
    journal.append({"key": f"{sys.argv[2]}-{number}", "padding": "x" * 5000})
"""


def test_several_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path / "rows.jsonl")]
    writers = [subprocess.Popen([*command, name]) for name in ("a", "b")]
    journal = Journal(tmp_path / "rows.jsonl")
    mine = 0
    while any(writer.poll() is None for writer in writers):
        assert sum(key[0] == "c" for key in keys(journal)) == mine
        journal.append({"key": f"c-{mine}", "padding": "x" * 5000})
        mine += 1
        time.sleep(0.02)
    assert [writer.wait() for writer in writers] == [0, 0]
    found = keys(journal)
    assert len(found) == len(set(found))
    assert len(found) == 80 + mine
    assert {k for k in found if k[0] != "c"} == {f"{n}-{i}" for n in "ab" for i in range(40)}


@pytest.mark.parametrize("fail_at", [1, 2])
def test_a_full_disk_takes_the_partial_row_back(
    fail_at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path / "rows.jsonl")
    journal.append(row("a"))
    before = journal.path.read_bytes()
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
            journal.append(row("b"))
    assert journal.path.read_bytes() == before
    journal.append(row("b"))
    assert entries(journal) == [row("a"), row("b")]


LIMITED = """
import resource, sys
from gmpool.journal import Journal
from gmpool.errors import StoreError
journal = Journal(sys.argv[1])
journal.append({"key": "a", "padding": "x" * 500})
resource.setrlimit(resource.RLIMIT_FSIZE, (900, resource.RLIM_INFINITY))
try:
    journal.append({"key": "b", "padding": "x" * 500})
except StoreError as error:
    print(error)
"""


def test_a_file_that_may_not_grow_keeps_its_rows(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path / "rows.jsonl")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "File too large" in done.stdout
    assert f"{tmp_path / 'rows.jsonl'}" in done.stdout
    lines = (tmp_path / "rows.jsonl").read_text().splitlines()
    assert [json.loads(line)["key"] for line in lines] == ["a"]
