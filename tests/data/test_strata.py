from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from gmpool.data.strata import MOST_BINS, strata_of

NAN = float("nan")


def test_classes_and_answers_are_strata_and_gaps_are_none() -> None:
    assert strata_of(torch.tensor([2, 0, 2]), "multiclass", 0.1).tolist() == [
        [0, 1],
        [1, 0],
        [0, 1],
    ]
    y = torch.tensor([[1.0, NAN], [0.0, 1.0]])
    assert strata_of(y, "binary", 0.1).tolist() == [[1, 0, 0, 0], [0, 1, 1, 0]]


def test_numbers_are_quantiles_of_their_own_column() -> None:
    y = torch.stack([torch.arange(40.0), torch.arange(40.0).flip(0) ** 3], 1)
    y[:20, 1] = NAN
    made = strata_of(y, "regression", 0.25)
    assert made.shape == (40, 15)
    assert made[:, :10].sum(0).tolist() == [4] * 10
    assert made[:, 10:].sum(0).tolist() == [4] * 5
    assert made[:20, 10:].sum() == 0
    assert made[39, 9] == made[0, 0] == made[39, 10] == made[20, 14] == 1


@given(st.lists(st.sampled_from([0.5, 1.0, 2.0, NAN]), min_size=1, max_size=50))
def test_each_number_is_in_one_quantile_and_equal_ones_in_the_same(values: list[float]) -> None:
    made = strata_of(torch.tensor(values)[:, None], "regression", 0.1)
    assert made.shape[1] <= MOST_BINS
    for value in (0.5, 1.0, 2.0):
        rows = made[[i for i, v in enumerate(values) if v == value]]
        assert (rows.sum(1) == 1).all()
        assert (rows == rows[:1]).all()
    assert made.sum() == sum(not np.isnan(v) for v in values)
