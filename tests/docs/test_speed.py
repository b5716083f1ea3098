"""docs/speed.md: each line of a table is the recorded row that it names."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pytest
from doc_blocks import ROOT

from gmpool.engine.store import RunStore

PAGE = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
LINE = r"^\|.*\| ([\d.,]+) (s|ms|MiB) \|.*\| ([\d.,]+) (s|ms|MiB) \| ([\d.]+) × \| `(.*):(\d+)` \|$"
LINES = re.findall(LINE, PAGE, flags=re.MULTILINE)
UNITS = {"s": 1.0, "ms": 1e-3, "MiB": 1.0}


@cache
def rows(file: str) -> list[dict[str, Any]]:
    text = (ROOT / "results" / "bench" / file).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def value(number: str, unit: str) -> float:
    return float(number.replace(",", "")) * UNITS[unit]


def test_every_line_of_a_table_names_its_row() -> None:
    heads = len(re.findall(r"^\| what \|", PAGE, flags=re.MULTILINE))
    lines = len(re.findall(r"^\|", PAGE, flags=re.MULTILINE))
    assert len(LINES) == lines - 2 * heads > 40


@pytest.mark.parametrize(
    ("ours", "unit", "peer", "peer_unit", "ratio", "file", "number"),
    LINES,
    ids=[f"{line[-2]}:{line[-1]}" for line in LINES],
)
def test_it_says_what_is_recorded(
    ours: str, unit: str, peer: str, peer_unit: str, ratio: str, file: str, number: str
) -> None:
    row = rows(file)[int(number) - 1]
    beside = row["peer"] if row.get("peer") is not None else row["authors_seconds"]
    close = pytest.approx
    assert (row["unit"] == "MiB") == (unit == "MiB")
    assert value(ours, unit) == close(row["ours"], rel=6e-3)
    assert value(peer, peer_unit) == close(beside, rel=6e-3)
    assert float(ratio) == close(beside / row["ours"], rel=6e-3)


def test_rows_that_are_named_are_there() -> None:
    for file, number in re.findall(r"`(\w+\.jsonl):(\d+)`", PAGE):
        assert 1 <= int(number) <= len(rows(file))


def test_a_hundred_molgans_are_faster_than_was_aimed_at() -> None:
    said = " ".join(PAGE.split())
    named = [int(number) for *_, file, number in LINES if file == "h200.jsonl"]
    there = [n for n, row in enumerate(rows("h200.jsonl"), start=1) if row["bench"] == "molgan"]
    assert len(there) == 6
    assert set(there) <= set(named), "all of them stand in the table"
    of = {row["name"]: row for row in rows("h200.jsonl") if row["bench"] == "molgan"}
    alone = [of[f"MolGAN, {m}, 100 GANs: stacked vs one after another"] for m in ("mean", "gmpool")]
    eager = [of[f"MolGAN, {m}: stacked vs eager"] for m in ("mean", "gmpool")]
    assert min(row["ratio"] for row in alone) > 20
    assert min(row["ratio"] for row in eager) > 100
    assert all(100 * row["ours"] < row["peer"] for row in alone), "all take less than one alone"
    mean, gmpool = (100 * 1e3 * row["ours"] for row in alone)
    assert f"all hundred take {mean:.1f} and {gmpool:.1f} ms for an iteration" in said
    mean, gmpool = (10_000 * row["ours"] for row in alone)
    shown = f"would be {mean:.1f} s (mean) and {gmpool:.1f} s (GMPool_1)"
    assert f"10,000 iterations at these rates {shown}" in said


def test_whole_molgans_took_as_long_as_it_says() -> None:
    took = [row.seconds for row in RunStore(ROOT / "results" / "molgan")]
    assert f"took {min(took):.1f} to {max(took):.1f} s each" in " ".join(PAGE.split())
