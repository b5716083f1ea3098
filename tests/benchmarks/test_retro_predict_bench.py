"""The benchmark of predictions gives its rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from reactions import small_set

from benchmarks.retro_predict import of_set
from gmpool.tasks.retrosynthesis.data import Reactions

pytest.importorskip("rdkit")
pytest.importorskip("rdchiral")


def test_rows(tmp_path: Path) -> None:
    rows = list(of_set(Reactions.of(small_set(tmp_path)), products=5, by_all=2, workers=2))
    assert [row["name"] for row in rows] == [
        "vectors of all centers and templates",
        "a product: all of it",
        "a product: running templates",
        "a product: the rest",
        "a product: all of it vs running all its templates",
        "a product: a process per core vs one",
    ]
    total, chemistry, rest = (row["ours"] for row in rows[1:4])
    assert total == pytest.approx(chemistry + rest)
    assert all(row["products"] == 5 for row in rows)
