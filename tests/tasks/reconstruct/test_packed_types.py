"""Predictions as a short text, and back."""

from __future__ import annotations

import pytest
import torch

from gmpool.errors import DataError
from gmpool.tasks.reconstruct.packed_types import pack_predictions, unpack_predictions


@pytest.mark.parametrize("categories", [2, 28, 256, 257, 5000])
def test_there_and_back(categories: int) -> None:
    generator = torch.Generator().manual_seed(categories)
    true, found = torch.randint(categories, (2, 1000), generator=generator)
    text = pack_predictions(found, true, categories)
    assert torch.equal(unpack_predictions(text, true, categories), found)


def test_what_is_right_costs_next_to_nothing() -> None:
    true = torch.randint(28, (23_000,), generator=torch.Generator().manual_seed(0))
    found = true.clone()
    found[::100] = 3
    assert len(pack_predictions(true, true, 28)) < 100
    assert len(pack_predictions(found, true, 28)) < 1500


def test_predictions_of_another_set_are_refused() -> None:
    true = torch.zeros(5, dtype=torch.int64)
    text = pack_predictions(true, true, 28)
    with pytest.raises(DataError, match="for 5 nodes, but the data has 4"):
        unpack_predictions(text, true[:4], 28)
    with pytest.raises(DataError, match="cannot be read"):
        unpack_predictions("no base64!", true, 28)
    with pytest.raises(DataError, match="cannot be read"):
        unpack_predictions(text[:8], true, 28)
