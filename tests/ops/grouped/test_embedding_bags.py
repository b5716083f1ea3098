"""Layouts of bags: both give the sums, and what is kept of a batch follows the batch."""

from __future__ import annotations

import pytest
import torch

from gmpool.ops.grouped import embedding_bags as bags
from gmpool.ops.grouped.reference import collect_reference
from gmpool.ops.segment import Segments


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("order", ["sorted", "mixed"])
@pytest.mark.parametrize("stays", [0, 10**9], ids=["by graph", "by slot"])
def test_both_layouts_collect(
    monkeypatch: pytest.MonkeyPatch, stays: int, order: str, heads: int
) -> None:
    monkeypatch.setattr(bags, "STAYS_IN_CACHE", stays)
    torch.manual_seed(0)
    batch = torch.tensor([0, 0, 0, 2, 2, 4, 4]) if order == "sorted" else torch.tensor([2, 0, 4, 0])
    segments = Segments.from_batch(batch, len(batch), None, 6)
    a = torch.rand(len(batch), heads, 3, dtype=torch.float64)
    blocks = [torch.randn(len(batch), d, dtype=torch.float64) for d in (5, 0, 1)]
    for weights in (a, a.permute(1, 2, 0).contiguous().permute(2, 0, 1)):
        found = bags.collect(weights, blocks, segments)
        for o, z in zip(found, blocks, strict=True):
            torch.testing.assert_close(o, collect_reference(a, z, segments))


def test_a_layout_is_made_once_and_anew_when_the_batch_changes() -> None:
    batch = torch.tensor([0, 0, 1])
    first = bags.slot_rows(batch, 1, 2, 2)
    assert first.tolist() == [0, 1, 0, 1, 2, 3]
    assert bags.slot_rows(batch, 1, 2, 2) is first
    assert bags.slot_rows(batch, 1, 2, 1).tolist() == [0, 0, 1]
    batch[1] = 1
    assert bags.slot_rows(batch, 1, 2, 2).tolist() == [0, 1, 2, 3, 2, 3]


def test_inference_mode() -> None:
    with torch.inference_mode():
        batch = torch.tensor([0, 1])
        assert bags.slot_offsets(batch, 3).tolist() == [0, 3, 6]
        batch[0] = 1
        assert bags.slot_rows(batch, 1, 2, 1).tolist() == [1, 1]
