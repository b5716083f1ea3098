"""What is said of rows at the end, whether they came at once or in two goes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gmpool.cli.row_counts import SHOWN, Counts
from gmpool.tasks.predictions import PredictedRow

ROWS = st.lists(st.sampled_from(["", "no molecule", "2 fields, expected 1"]), max_size=20)


def row(number: int, problem: str) -> PredictedRow:
    return PredictedRow([str(number), problem], f"t.csv:{number}", problem or None)


@given(problems=ROWS, at=st.integers(0, 20), leaves_out=st.booleans())
def test_counting_may_be_interrupted(problems: list[str], at: int, leaves_out: bool) -> None:
    rows = [row(*each) for each in enumerate(problems)]
    whole, first = Counts(), Counts()
    written = whole.to_write(rows, leaves_out=leaves_out)
    before = first.to_write(rows[:at], leaves_out=leaves_out)
    second = Counts.again(json.loads(json.dumps(first.to_json())))
    assert before + second.to_write(rows[at:], leaves_out=leaves_out) == written
    assert second == whole
    assert whole.rows == len(problems)
    assert whole.bad == sum(map(bool, problems))
    assert len(written) == len(problems) - (whole.bad if leaves_out else 0)
    assert whole.first == [f"t.csv:{n}: {p}" for n, p in enumerate(problems) if p][:SHOWN]


def test_what_was_counted_is_not_changed_by_who_goes_on() -> None:
    kept = Counts(rows=3, bad=1, first=["a"]).to_json()
    Counts.again(kept).to_write([row(3, "bad")], leaves_out=False)
    assert kept["first"] == ["a"]
    assert Counts.again({}) == Counts()


def test_what_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    counts = Counts(rows=12, bad=7, changed=2, first=["t.csv:1: \x1b[2Jno"])
    counts.say("vector", "v.csv", leaves_out=False)
    assert capsys.readouterr().err.splitlines() == [
        "without a vector: t.csv:1: \\x1b[2Jno",
        "… and 2 more",
        "7 of 12 rows without a vector",
        "cells that begin like a formula and got an apostrophe: 2",
        "5 vectors: v.csv",
    ]
    Counts(rows=3).say("vector", None, leaves_out=True)
    assert capsys.readouterr().err == ""
