"""The benchmark of a GPU comes to its end, on small sizes."""

from __future__ import annotations

import json

import pytest
import torch
from marks import on_cuda

import benchmarks.gpu
from gmpool.errors import UserError


def test_without_a_device_it_says_what_else_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match="needs a CUDA device"):
        next(benchmarks.gpu.measure())


@on_cuda
def test_every_part_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"NODES": 3000, "DIRECTED_EDGES": 12_000, "REPLICAS": 3, "COPIED": 2**20}
    for name, value in small.items():
        monkeypatch.setattr(benchmarks.gpu, name, value)
    rows = list(benchmarks.gpu.measure())
    assert all(row["ours"] > 0 and row["ratio"] > 0 for row in rows)
    said = " ".join(row["name"] for row in rows)
    for part in ("copy", "seed attention backward", "128 small graphs", "spmm", "peak memory"):
        assert part in said
    assert json.loads(json.dumps(rows)) == rows
