from __future__ import annotations

import io
import logging
from types import SimpleNamespace

import pytest
from rich.table import Table

from gmpool.cli.console import SafeConsole, put, say, say_understood

HOSTILE = "a\x1b[2J\x1b]0;title\x07b\r\x9b31m"
HARMLESS = "a\\x1b[2J\\x1b]0;title\\x07b\\r\\x9b31m"


def test_what_is_said_is_text_and_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    long = "c1:o:c [bold]" + " word" * 100
    say(long)
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"{long}\n")


def test_what_was_understood_is_said_line_by_line(capsys: pytest.CaptureFixture[str]) -> None:
    say_understood(SimpleNamespace(understood=("t.csv: 3 rows", "split: \x1b[31m")))
    say_understood(object())
    assert capsys.readouterr().err == "t.csv: 3 rows\nsplit: \\x1b[31m\n"


def test_no_control_character_of_a_file_gets_out(capsys: pytest.CaptureFixture[str]) -> None:
    say(f"first\n{HOSTILE}")
    assert capsys.readouterr().err == f"first\n{HARMLESS}\n", "a newline is ours"
    logging.getLogger("gmpool.data").warning("%s", HOSTILE)
    assert HOSTILE not in capsys.readouterr().err


def test_a_table_keeps_its_own_colours_and_none_of_its_text() -> None:
    console = SafeConsole(file=io.StringIO(), force_terminal=True, width=200, color_system="256")
    table = Table(HOSTILE, title=HOSTILE)
    table.add_row(f"[bold]{HOSTILE}[/]")
    console.print(table)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert text.count("a\\x1b[2J") == 3
    assert "\x1b[1m" in text
    assert not set("\x07\r\x9b") & set(text)


def test_text_for_a_program_is_as_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(HOSTILE)
    assert capsys.readouterr().out == HOSTILE
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    put(HOSTILE)
    assert capsys.readouterr().out == HARMLESS
