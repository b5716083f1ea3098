"""Files that one living process has at a time, on whatever file system."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from pathlib import Path

import pytest
from killed import ends_before

from gmpool import exclusive
from gmpool.exclusive import SILENT, alone, claim, is_free, release, sweep
from gmpool.journal import Journal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "claims" / "key"


def test_who_has_it_has_it_until_it_is_given_back(path: Path) -> None:
    assert is_free(path)
    assert claim(path)
    assert not claim(path)
    assert not is_free(path)
    release(path)
    assert claim(path)
    release(path)
    assert list(path.parent.iterdir()) == []


def left_by(path: Path, **owner: object) -> None:
    """A file of a process that is not this one."""
    claim(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **owner}))


def test_what_a_killed_process_had_is_taken_over(path: Path) -> None:
    """Wherever it was killed, in the making of the file or after it."""
    for step in range(8):
        if not ends_before(step, lambda: (claim(path), os.write(1, b""))):
            assert is_free(path)
            assert claim(path)
            release(path)
            sweep(path.parent)
            assert list(path.parent.iterdir()) == []
        else:
            return
    pytest.fail("it never ended")


def test_a_number_that_another_process_got_is_not_the_dead_one(path: Path) -> None:
    left_by(path, pid=os.getpid(), started="1")
    assert claim(path)


def test_a_process_of_another_machine_lives_while_it_gives_signs(path: Path) -> None:
    left_by(path, host="elsewhere", pid=1)
    assert not claim(path)
    then = path.stat().st_mtime - SILENT - 1
    os.utime(path, (then, then))
    assert claim(path)


def test_who_was_silent_for_too_long_does_not_take_it_from_the_next(path: Path) -> None:
    claim(path)
    path.write_text(theirs := path.read_text().replace('"token"', '"other"'))
    release(path)
    assert path.read_text() == theirs


@pytest.mark.parametrize("why", [errno.EPERM, errno.EOPNOTSUPP])
def test_where_files_have_one_name_only(
    why: int, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object) -> None:
        raise OSError(why, os.strerror(why))

    monkeypatch.setattr(os, "link", no_links)
    assert claim(path)
    assert not claim(path)
    release(path)
    path.touch()  # whose owner was killed before it could say who it is
    assert not claim(path)
    os.utime(path, (1, 1))
    assert claim(path)


def test_of_many_who_take_over_one_has_it(path: Path) -> None:
    for _ in range(5):
        left_by(path, pid=2**22 + 1)
        pids, (read, write) = [], os.pipe()
        for _ in range(4):
            if (pid := os.fork()) == 0:
                os.write(write, b"1" if any(claim(path) for _ in range(50)) else b"0")
                os.read(read, 0)
                os.kill(os.getpid(), 19)  # stays, and lives
            pids.append(pid)
        said = b"".join(os.read(read, 1) for _ in pids)
        for pid in pids:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
        assert sorted(said) == list(b"0001")
        assert claim(path), "when all are dead"
        release(path)


def test_a_journal_is_written_where_flock_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", missing)
    monkeypatch.setattr(fcntl, "lockf", missing)
    journal = Journal(tmp_path / "rows.jsonl")
    with alone(tmp_path / "other"):
        journal.append({"key": "a"})
    assert [entry["key"] for _, entry in journal] == ["a"]
    assert os.listdir(tmp_path) == ["rows.jsonl"]


def test_where_there_is_no_proc(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then a process is known by its number alone."""
    monkeypatch.setattr(exclusive.Path, "exists", lambda _: False)
    assert claim(path)
    assert not claim(path)
    left_by(path, pid=2**22 + 1)
    assert claim(path)
