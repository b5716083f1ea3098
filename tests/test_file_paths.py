from __future__ import annotations

import os
from pathlib import Path

import pytest

from gmpool.errors import UserError
from gmpool.file_paths import require_writable_file, require_writable_folder, usable_path


def test_a_path_that_may_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "new" / "deep", tmp_path / "file" / "below", Path("x")):
        assert usable_path(str(path)) == path


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "/".join(["x" * 200] * 30)])
def test_a_path_that_no_file_can_have(name: str) -> None:
    with pytest.raises(UserError, match=r"cannot be used: File name too long|has a NUL") as error:
        usable_path(name, "plan")
    assert "the plan" in str(error.value)
    assert len(str(error.value)) < 400


def test_a_loop_of_links(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "a")
    with pytest.raises(UserError, match=r"cannot be used: Too many levels"):
        usable_path(tmp_path / "a")


def test_places_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_writable_file(tmp_path / "new" / "deep" / "t.md", "--out")
    require_writable_folder(tmp_path / "new", "--store")
    assert not (tmp_path / "new").exists(), "asking makes nothing"
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"--out .*: there is a folder of that name"):
        require_writable_file(tmp_path, "--out")
    with pytest.raises(UserError, match=r"--out .*file/t\.md: .*file is a file, not a folder"):
        require_writable_file(tmp_path / "file" / "t.md", "--out")
    with pytest.raises(UserError, match="File name too long"):
        require_writable_file(tmp_path / f"{'x' * 250}.md", "--out")
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)
    with pytest.raises(UserError, match=f"--store .*: nothing can be written to {tmp_path}"):
        require_writable_folder(tmp_path / "new", "--store")
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path / "file")
    with pytest.raises(UserError, match=r"--out .*: the file may not be written"):
        require_writable_file(tmp_path / "file", "--out")
