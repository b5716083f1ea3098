"""The README's Python runs as it stands there, on a batch as its text describes it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from graphs import random_batch

PAGE = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
SIZES = [5, 1, 0, 12]


def given(width: int) -> dict[str, Any]:
    batch = random_batch(SIZES, width, dtype=torch.float32)
    return {"x": batch.x, "edge_index": batch.edge_index, "batch": batch.batch}


def block(word: str) -> str:
    (found,) = (text for text in BLOCKS if word in text)
    return str(found)


def test_a_readout_and_the_same_with_edges_made_before() -> None:
    torch.manual_seed(0)
    names = given(384)
    exec(block("readout = "), names)
    first = names["vectors"]
    assert first.shape == (len(SIZES), 128)
    exec(block("import Edges"), names)
    torch.testing.assert_close(names["vectors"], first)


@pytest.mark.parametrize(("word", "rows"), [("GMPool(", [4] * 4), ("METHODS", [2, 1, 0, 3])])
def test_poolings_that_are_modules(word: str, rows: list[int]) -> None:
    names = given(128)
    exec(block(word), names)
    pooled = names["pooled"]
    flat = pooled.x.flatten(0, -2)
    assert flat.shape == (sum(rows), 128)
    if word == "GMPool(":
        assert pooled.assignment.shape == (sum(SIZES), 4)
    else:
        assert torch.bincount(pooled.batch, minlength=len(SIZES)).tolist() == rows
