"""Linear, ReLU, linear."""

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn

from gmpool.nn.keeps_options import KeepsOptions
from gmpool.ops.add_bias import affine


class TwoLayers(KeepsOptions, nn.Sequential):
    """Two linear maps with a ReLU between them, and one after them if asked for.

    in_dim, hidden_dim, out_dim: widths before, between and after.
    """

    def __init__(self, in_dim: int, hidden_dim: int, out_dim: int) -> None:
        super().__init__(nn.Linear(in_dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, out_dim))

    def forward(
        self,
        x: Tensor,
        *,
        relu: bool = False,
        between: Callable[[Tensor], Tensor] | None = None,
    ) -> Tensor:
        """between: what the rows go through before the ReLU. [N, in_dim] -> [N, out_dim]"""
        first, second = cast(nn.Linear, self[0]), cast(nn.Linear, self[2])
        inner = affine(x, first.weight, first.bias, relu=between is None)
        if between is not None:
            inner = torch.relu(between(inner))
        return affine(inner, second.weight, second.bias, relu=relu)
