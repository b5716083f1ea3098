from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from gmpool.cli.output import check_places, form_of, save, save_pictures, write
from gmpool.errors import UserError
from gmpool.report.grid import Column, Grid, Picture, Square

GRID = Grid(
    "Numbers",
    [Column("name", [Square("one")]), Column("value", [Square("1.5")])],
    records=[{"name": "one", "value": 1.5}],
)


@pytest.mark.parametrize(
    ("to", "form", "expected"),
    [
        (None, None, "terminal"),
        (None, "csv", "csv"),
        ("t.md", None, "markdown"),
        ("t.tex", None, "latex"),
        ("t.csv", None, "csv"),
        ("t.json", None, "json"),
        ("t.html", None, "html"),
        ("t.txt", None, "terminal"),
        ("t.md", "html", "html"),
        ("t.dat", "csv", "csv"),
    ],
)
def test_the_form_is_the_one_asked_for_or_that_of_the_name(
    to: str | None, form: str | None, expected: str
) -> None:
    assert form_of(None if to is None else Path(to), form) == expected


def test_a_form_that_nobody_knows() -> None:
    with pytest.raises(UserError, match=r"unknown format 'cvs'; did you mean 'csv'\?"):
        form_of(None, "cvs")
    with pytest.raises(UserError, match=r"--out ends in \.csv, .*, got t\.pdf; or say --format"):
        form_of(Path("t.pdf"))


@pytest.mark.parametrize("form", ["markdown", "latex", "csv", "json", "html"])
def test_a_file_holds_what_is_printed(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["gmpool", "table", "a b"])
    write([GRID], form, None, title="All")
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "1.5" in printed.out
    path = tmp_path / "deep" / "file"
    write([GRID], form, path, title="All")
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"written: {path}\n")
    assert path.read_text(encoding="utf-8") == printed.out
    if form == "html":
        assert "gmpool table &#39;a b&#39;" in printed.out, "as it can be given again"


def test_a_picture_that_cannot_be_drawn_is_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pictures = [
        Picture("one", "One", lambda: b"\x89PNG"),
        Picture("none", "None", lambda: None, note="There is none."),
    ]
    save_pictures(pictures, tmp_path / "new")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["one.png"]
    said = capsys.readouterr()
    assert (said.out, said.err) == (
        "",
        f"written: {tmp_path / 'new' / 'one.png'}\nThere is none.\n",
    )


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"file/t\.md could not be written: "):
        save(tmp_path / "file" / "t.md", b"")


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.md"
    path.write_text("before")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match=r"t\.md could not be written: No space left on device"):
        save(path, b"after")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path], "nothing half-written lies about"


def test_a_kill_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.md"
    path.write_text("before")

    def killed(*_: object) -> None:
        raise SystemExit

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(SystemExit):
        save(path, b"after")
    assert path.read_text() == "before"


def test_a_link_stays_one_and_a_device_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "link.md").symlink_to(tmp_path / "real.md")
    save(tmp_path / "link.md", b"text")
    assert (tmp_path / "link.md").is_symlink()
    assert (tmp_path / "real.md").read_bytes() == b"text"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    save(tmp_path / "pipe", b"text")
    assert os.read(reader, 9) == b"text"
    os.close(reader)


def test_places_are_looked_at_by_their_flags(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    check_places(tmp_path / "t.md", plots=None, save_model=tmp_path / "new")
    with pytest.raises(UserError, match=r"--save-model .*file is a file"):
        check_places(None, plots=None, save_model=tmp_path / "file")
