"""Balanced weights are scikit-learn's, label by label, and gaps have none."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import torch
from hypothesis import given
from sklearn.utils import compute_class_weight

from gmpool.tasks.classify.class_weights import balanced_weights, weight_of

NAN = float("nan")


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40))
def test_classes_are_weighed_as_scikit_learn_does(classes: list[int]) -> None:
    y = torch.tensor(classes)
    weights = balanced_weights(y, torch.Size([4]))
    there = np.unique(classes)
    expected = compute_class_weight("balanced", classes=there, y=np.array(classes))
    np.testing.assert_allclose(weights[there].numpy(), expected, rtol=1e-6)
    assert (weights[[c for c in range(4) if c not in there]] == 1).all()


def test_answers_are_weighed_label_by_label_without_gaps() -> None:
    y = torch.tensor([[1.0, NAN], [0.0, 1.0], [0.0, 1.0], [0.0, NAN]])
    weights = balanced_weights(y, torch.Size([2, 2]))
    torch.testing.assert_close(weights[:, 0], torch.tensor([4 / 6, 2.0]))
    torch.testing.assert_close(weights[:, 1], torch.tensor([1.0, 1.0]))  # one kind alone
    each = weight_of(y, weights)
    present = ~y.isnan()
    of_yes = each[:, 0][y[:, 0] == 1].sum()
    of_no = each[:, 0][y[:, 0] == 0].sum()
    torch.testing.assert_close(of_yes, of_no)
    assert (each[present] > 0).all()


def test_the_weight_of_each_class() -> None:
    weights = torch.tensor([1.0, 2.0, 3.0])
    assert weight_of(torch.tensor([2, 0, -100]), weights).tolist() == [3.0, 1.0, 1.0]
