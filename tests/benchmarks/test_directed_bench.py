"""Rows of `gmpool bench directed`, on a small set."""

from __future__ import annotations

import pytest
import torch
from marks import DEVICES
from molecule_sets import random_set
from small_sets import split

from benchmarks import directed
from benchmarks.directed import EACH, ONCE, epoch, epochs, kernels, measure, stacked
from benchmarks.gpu import Runs
from benchmarks.timing import interleaved
from gmpool.data import Dataset
from gmpool.nn.directed import DirectedEncoder
from gmpool.ops.directed_messages import directed_messages
from gmpool.ops.directed_messages.reference import directed_messages_reference


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directed, "BATCH", 8)


def dataset(device: str = "cpu") -> Dataset:
    return Dataset.of(random_set().to(device), [split()])


def turns(runs: Runs) -> dict[str, float]:
    return interleaved(runs, rounds=1)


def test_one_makes_each_state_once_and_the_other_for_each_bond(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: list[str] = []
    for name in ("_once", "_each"):
        way = getattr(DirectedEncoder, name)

        def watched(self: DirectedEncoder, *args, name=name, way=way) -> torch.Tensor:
            taken.append(name)
            return way(self, *args)

        monkeypatch.setattr(DirectedEncoder, name, watched)
    for each, way in ((False, "_once"), (True, "_each")):
        taken.clear()
        epoch(dataset(), each=each, width=8)()
        assert taken == [way] * 3
    (row,) = epochs(dataset(), rounds=1)
    assert row["name"] == f"training epoch of molecules: {ONCE} vs {EACH}"
    assert row["ratio"] == row["peer"] / row["ours"]


@pytest.mark.parametrize("device", DEVICES)
def test_messages_of_replicas(device: str) -> None:
    inputs, (code, rowptr, back) = stacked(dataset(device), 3, 6)
    found = torch.vmap(directed_messages)(*inputs[:2], code, inputs[2], rowptr, back)
    for r in range(3):
        own, table, g = (t[r] for t in inputs)
        expected = directed_messages_reference(own, table, code[r], g, rowptr[r], back[r])
        torch.testing.assert_close(found[r], expected)
    rows = list(kernels(dataset(device), turns, replicas=3, width=6))
    assert [row["name"].partition(":")[0].split()[-1] for row in rows] == ["forward", "backward"]
    assert all((row["replicas"], row["entries"]) == (3, code.numel()) for row in rows)


def test_all_is_measured_that_a_device_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directed, "load", lambda name, root: dataset())
    rows = list(measure(rounds=1))
    assert len(rows) == (3 if torch.cuda.is_available() else 1)
    assert all(row["ours"] > 0 and row["ratio"] > 0 for row in rows)
