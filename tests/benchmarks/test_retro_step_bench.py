"""The benchmark of GLN's steps gives its rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from reactions import small_set

from benchmarks.retro_step import of_set
from gmpool.tasks.retrosynthesis.data import Reactions

pytest.importorskip("rdkit")
pytest.importorskip("rdchiral")


def test_rows(tmp_path: Path) -> None:
    rows = list(of_set(Reactions.of(small_set(tmp_path)), rounds=1))
    atoms, *states, mean, gmpool = rows
    assert atoms["name"] == "atoms of candidate reactants"
    assert [row["name"] for row in states] == [
        f"distinct states after round {number}" for number in (1, 2, 3)
    ]
    counts = [row["ours"] for row in states]
    assert 0 < counts[0] <= counts[1] <= counts[2] < atoms["ours"]
    for row, method in ((mean, "mean"), (gmpool, "gmpool")):
        assert row["name"] == (
            f"a step of GLN with {method}: each distinct state once vs a state for each atom"
        )
        assert row["ours"] > 0
        assert row["peer"] > 0
