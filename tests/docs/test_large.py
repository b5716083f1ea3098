"""docs/large.md computes from recorded rates what it says."""

from __future__ import annotations

import json
import re

import pytest
from doc_blocks import ROOT

PAGE = (ROOT / "docs" / "large.md").read_text(encoding="utf-8")
ROWS = (ROOT / "results" / "bench" / "cpu.jsonl").read_text(encoding="utf-8").splitlines()
COSTS = re.findall(
    r"^\| (.*) \| ([\d,]+) \| ([\d.]+) \| (\d+) minutes \| (\d+) s \| `cpu.jsonl:(\d+)` \|$",
    PAGE,
    flags=re.MULTILINE,
)
MEASURED = re.findall(
    r"^\| (.*) \| (\d+) \| ([\d,]+) \| ([\d,]+) MiB \| `cpu.jsonl:(\d+)` – `cpu.jsonl:(\d+)` \|$",
    PAGE,
    flags=re.MULTILINE,
)


def ours(number: str) -> float:
    return float(json.loads(ROWS[int(number) - 1])["ours"])


def test_all_lines_are_checked() -> None:
    assert (len(MEASURED), len(COSTS)) == (3, 3)


@pytest.mark.parametrize(("what", "seconds", "rate", "memory", "first", "last"), MEASURED)
def test_a_million_took_so_long(
    what: str, seconds: str, rate: str, memory: str, first: str, last: str
) -> None:
    found = [ours(str(number)) for number in range(int(first), int(last) + 1)]
    said = [float(text.replace(",", "")) for text in (seconds, rate, memory)]
    assert [round(value) for value in found] == said, what


@pytest.mark.parametrize(("what", "rate", "hours", "minutes", "seconds", "row"), COSTS)
def test_a_hundred_million_would_take_so_long(
    what: str, rate: str, hours: str, minutes: str, seconds: str, row: str
) -> None:
    core_hours = 1e8 / ours(row) * 2 / 3600
    assert float(rate.replace(",", "")) == round(ours(row)), what
    assert float(hours) == pytest.approx(core_hours, abs=0.05)
    assert float(minutes) == pytest.approx(60 * core_hours / 64, abs=0.5)
    assert float(seconds) == pytest.approx(3600 * core_hours / 1024, abs=0.5)
