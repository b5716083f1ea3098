"""Numbers of very different sizes as rows that a linear map can read."""

import torch
from torch import Tensor

from gmpool.nn.keeps_options import KeepsOptions

_CUT = 0.01
"""The share of values at either end that count as the last before them: descriptors have tails that
are a million times as long as they are wide."""


class FeatureScale(KeepsOptions):
    """Columns at mean 0 and deviation 1 of the training part; a gap is 0, a constant too. [B, F]

    dim: F.
    """

    low: Tensor
    high: Tensor
    mean: Tensor
    spread: Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        for name, value in (("low", 0.0), ("high", 0.0), ("mean", 0.0), ("spread", 1.0)):
            self.register_buffer(name, torch.full((dim,), value))

    @torch.no_grad()
    def fit(self, values: Tensor) -> None:
        """To the training part. values [n, F]; NaN is a gap."""
        wide = values.double()
        low, high = (wide.nanquantile(q, dim=0).nan_to_num(0.0) for q in (_CUT, 1 - _CUT))
        cut = wide.clamp(low, high)
        mean = cut.nanmean(0).nan_to_num(0.0)
        spread = ((cut - mean) ** 2).nanmean(0).nan_to_num(0.0).sqrt()
        # Of a constant everything is cut off but itself.
        varies = spread > 1e-6 * (1 + mean.abs())
        self.low.copy_(torch.where(varies, low, mean))
        self.high.copy_(torch.where(varies, high, mean))
        self.mean.copy_(mean)
        self.spread.copy_(torch.where(varies, spread, 1.0))

    def forward(self, values: Tensor) -> Tensor:
        cut = values.clamp(self.low, self.high)
        return ((cut - self.mean) / self.spread).nan_to_num(0.0)
