from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from gmpool.atomic_files import replacing, write_atomically


def test_files_are_put_in_place_together(tmp_path: Path) -> None:
    one, two = tmp_path / "new" / "one", tmp_path / "two"
    two.write_bytes(b"old")
    with replacing(one, str(two)) as (first, second):
        first.write_bytes(b"1")
        second.write_bytes(b"2")
        assert two.read_bytes() == b"old"
        assert first.parent == one.parent, "a rename must not cross file systems"
    assert (one.read_bytes(), two.read_bytes()) == (b"1", b"2")
    assert os.listdir(one.parent) == ["one"]
    write_atomically({one: b"3", two: b"4"})
    assert (one.read_bytes(), two.read_bytes()) == (b"3", b"4")


@pytest.mark.parametrize("error", [OSError("full"), KeyboardInterrupt()])
def test_what_fails_leaves_everything_as_it_was(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail() -> None:
        with replacing(path, tmp_path / "other") as (first, _):
            first.write_bytes(b"half")
            raise error

    with pytest.raises(type(error)):
        fail()
    assert os.listdir(tmp_path) == ["file"]
    assert path.read_bytes() == b"old"


def test_one_that_was_not_written_fails(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "a", tmp_path / "b") as (first, _):
        first.write_bytes(b"1")
    assert os.listdir(tmp_path) == []


def test_what_was_left_of_a_killed_process_is_removed_after_a_day(tmp_path: Path) -> None:
    old, young, foreign = (tmp_path / n for n in (".a.0123abcd", ".a.76543210", ".b.0123abcd"))
    for path in (old, young, foreign):
        path.touch()
    for path in (old, foreign):
        os.utime(path, (1, 1))
    write_atomically({tmp_path / "a": b"1"})
    assert sorted(os.listdir(tmp_path)) == [".a.76543210", ".b.0123abcd", "a"]


def test_names_are_on_the_disk_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[bool] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(is_folder(descriptor)))
    write_atomically({tmp_path / "a": b"1"})
    assert synced == [False, True]


def is_folder(descriptor: int) -> bool:
    return stat.S_ISDIR(os.fstat(descriptor).st_mode)
