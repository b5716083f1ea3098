"""Numbers of graphs at mean 0 and deviation 1, whatever their size and their tails."""

from __future__ import annotations

import torch

from gmpool.nn.feature_scale import FeatureScale


def test_mean_and_deviation_of_the_training_part() -> None:
    torch.manual_seed(0)
    values = torch.randn(1000, 3) * torch.tensor([1.0, 1e5, 1e-4]) + torch.tensor([0.0, 3e5, 7.0])
    scale = FeatureScale(3)
    scale.fit(values)
    made = scale(values)
    torch.testing.assert_close(made.mean(0), torch.zeros(3), atol=1e-2, rtol=0)
    torch.testing.assert_close(made.std(0), torch.ones(3), atol=2e-2, rtol=0)


def test_tails_are_cut_where_training_ends() -> None:
    values = torch.linspace(0, 1, 101)[:, None]
    scale = FeatureScale(1)
    scale.fit(values)
    far = scale(torch.tensor([[1e20], [-1e20], [1.0]]))
    assert far[0] == far[2]  # the last hundredth counts as what is before it
    assert far[1] == -far[0]
    assert far.abs().max() < 2


def test_gaps_and_constants_are_zero() -> None:
    values = torch.tensor(
        [[1.0, 5.0, torch.nan], [3.0, 5.0, torch.nan], [torch.nan, 5.0, torch.nan]]
    )
    scale = FeatureScale(3)
    scale.fit(values)
    made = scale(torch.tensor([[torch.nan, 5.0, 2.0], [2.0, 700.0, torch.nan]]))
    assert torch.equal(made, torch.zeros(2, 3))
    assert all(buffer.isfinite().all() for buffer in scale.buffers())


def test_before_a_fit_all_is_zero() -> None:
    assert torch.equal(FeatureScale(2)(torch.full((1, 2), 3.0)), torch.zeros(1, 2))
