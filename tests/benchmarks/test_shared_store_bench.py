"""Rows of `gmpool bench shared_store`, with one epoch a run."""

from __future__ import annotations

import pytest

from benchmarks import shared_store


@pytest.mark.slow
@pytest.mark.data
def test_two_processes_share_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_store, "FOLDS", 2)
    monkeypatch.setattr(shared_store, "SEEDS", 1)
    monkeypatch.setattr(shared_store, "ROUNDS", 1)
    (row,) = shared_store.measure(epochs=1)
    assert row["rows"] == 2
    assert row["ratio"] == row["peer"] / row["ours"]
