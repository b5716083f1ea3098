from __future__ import annotations

import csv
import gzip
import io
import lzma
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from small_disk import small_disk

from gmpool.cli.row_file import ENDINGS, row_file
from gmpool.errors import UserError

COLUMNS, KINDS = ["na,me", "", "p"], [str, str, float]
ROWS = [['a "b"', "=1+1", 0.123456789], ["é\n", "\ud800", None], ["-", "-0.50", -1.5]]
TEXT = [COLUMNS, ['a "b"', "'=1+1", "0.123457"], ["é\n", "\\ud800", ""], ["-", "-0.50", "-1.5"]]
OPEN: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}


def write(path: Path | None, times: int = 1) -> None:
    with row_file(path, COLUMNS, KINDS) as more:
        for _ in range(times):
            more(ROWS[:2])
            more(ROWS[2:])


@pytest.mark.parametrize("ending", [each for each in ENDINGS if each != ".parquet"])
def test_text_is_of_the_form_that_the_name_says(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"new{ending.upper()}"
    write(path)
    with OPEN.get(Path(ending).suffix, open)(path, "rt", encoding="utf-8", newline="") as file:
        separator = "\t" if ".tsv" in ending else ","
        assert list(csv.reader(file, delimiter=separator)) == TEXT
    write(tmp_path / f"b{ending}")
    assert (tmp_path / f"b{ending}").read_bytes() == path.read_bytes()
    assert len(list(tmp_path.iterdir())) == 2


def test_parquet_has_numbers_and_the_text_as_it_was(tmp_path: Path) -> None:
    write(tmp_path / "new.parquet", times=2)
    table = pyarrow.parquet.read_table(tmp_path / "new.parquet")
    assert table.column_names == COLUMNS
    assert table.column(1).to_pylist() == ["=1+1", "\\ud800", "-0.50"] * 2
    assert table.column(2).to_pylist() == [0.123456789, None, -1.5] * 2


def test_it_is_in_place_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    path.write_text("before")
    with row_file(path, COLUMNS, KINDS) as more:
        more(ROWS)
        assert path.read_text() == "before"
        (other,) = (each for each in tmp_path.iterdir() if each != path)
        assert other.read_bytes(), "rows are on the disk as they come"
    assert path.read_text() != "before"
    assert [*tmp_path.iterdir()] == [path]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(tmp_path / "new.csv")
    write(tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "new.csv").is_file()


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_full_disk_leaves_the_old_file(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"new{ending}"
    path.write_text("before")
    with (
        small_disk(64),
        pytest.raises(UserError, match=r"could not be written to .*File too large"),
    ):
        write(path, times=1000)
    assert path.read_text() == "before"
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize(
    ("name", "reason"), [("x" * 300 + ".csv", "File name too long"), ("new.csv", "Permission")]
)
def test_a_place_that_cannot_be_written_to(name: str, reason: str, tmp_path: Path) -> None:
    if reason == "Permission" and os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    tmp_path.chmod(0o500)
    with pytest.raises(UserError, match=reason):
        write(tmp_path / name)


def test_a_terminal_is_sent_no_control_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    kept = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", Terminal(kept))
    with row_file(None, ["a\x1b[2J"], [str]) as more:
        more([["\x1b]0;x\x07"], ["\x9b1m\x7f"]])
    assert kept.getvalue().decode() == "a\\x1b[2J\n\\x1b]0;x\\x07\n\\x9b1m\\x7f\n"
