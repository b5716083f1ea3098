"""What every pooling returns."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor


@dataclass(frozen=True)
class Pooled:
    """The result of pooling a batch of B graphs.

    x: graph vectors [B, D], or the K rows per graph [B, K, D].
    assignment: C [N, K], how much of each node went to each of its graph's K rows, averaged over
        heads; there when it was asked for.
    attention: the same per head, [N, H, K].
    losses: auxiliary losses by name, to be added to the task's.
    """

    x: Tensor
    assignment: Tensor | None = None
    attention: Tensor | None = None
    losses: dict[str, Tensor] = field(default_factory=dict)
