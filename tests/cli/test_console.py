from __future__ import annotations

import pytest

from gmpool.cli.console import say, say_left_out


def test_what_is_said_is_text_and_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    long = "c1:o:c [bold]" + " word" * 100
    say(long)
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"{long}\n")


def test_what_is_left_out_is_said_row_by_row(capsys: pytest.CaptureFixture[str]) -> None:
    say_left_out(("t.csv:2: no", "t.csv:3: neither"))
    say_left_out(())
    assert capsys.readouterr().err == "left out: t.csv:2: no\nleft out: t.csv:3: neither\n"
