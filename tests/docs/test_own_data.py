"""docs/evidence.md says of own molecules what is recorded in results/own-data/."""

from __future__ import annotations

import json
from statistics import fmean
from typing import Any

import pytest
from doc_blocks import ROOT

from benchmarks.chemprop_accuracy import table_of
from benchmarks.chemprop_runs import TABLES
from benchmarks.coverage import summary

FOLDER = ROOT / "results" / "own-data"
PAGE = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")


def rows(name: str) -> list[dict[str, Any]]:
    text = (FOLDER / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_the_tables_are_made_of_the_rows() -> None:
    made = table_of(rows("scores.jsonl"))
    assert made == (FOLDER / "table.md").read_text(encoding="utf-8")
    assert all(line in PAGE for line in made.splitlines())
    made, near = summary(rows("coverage.jsonl"))
    assert all(line in PAGE for line in made.splitlines())
    assert near[False], "what is sound is as near as allowed"
    assert not near[True], "and the same check fails where it should"


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("members", [1, 5])
def test_it_is_ahead_of_chemprop(table: str, members: int) -> None:
    mine = [r for r in rows("scores.jsonl") if (r["table"], r["members"]) == (table, members)]
    ours, theirs = (
        fmean(r["score"] for r in mine if r["who"] == who) for who in ("gmpool", "chemprop")
    )
    assert (ours > theirs) if TABLES[table].is_classes else (ours < theirs)


def test_five_seeds_each() -> None:
    for name in TABLES:
        for who in ("gmpool", "chemprop"):
            mine = [r for r in rows("scores.jsonl") if (r["table"], r["who"]) == (name, who)]
            assert len({r["seed"] for r in mine if r["members"] == 1}) >= 5
            assert any(r["members"] == 5 for r in mine)
