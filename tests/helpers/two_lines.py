"""A plan of two lines on a set of its own, run in a folder of the test's.

A test file takes part with `in_tmp_path = two_lines.in_tmp_path`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from own_set import write_set
from small_sets import OPTIONS

Cli = Callable[..., Any]
QUICK = "[options]\n" + "".join(f"{key} = {value}\n" for key, value in OPTIONS.items())
TWO_LINES = f"""
title = "Two [lines]"
folds = 2
seeds = 2
datasets = ["own"]
methods = ["mean"]
[[line]]
label = "one head"
method = "gmt"
options = {{ num_heads = 1 }}
{QUICK}"""
RUN = ("run", "p.toml", "--device", "cpu")


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_set(Path("own"))
    Path("p.toml").write_text(TWO_LINES)


def rows() -> list[dict[str, Any]]:
    path = Path("runs/rows.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
