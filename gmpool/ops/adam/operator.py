"""Adam for R replicas at once, each with its own rate, decay, clipping and clock."""

from torch import Tensor

from gmpool.ops.adam.pytorch import Pace, update_by_row
from gmpool.ops.choice import serving


def adam_step(weights: Tensor, grads: Tensor, first: Tensor, second: Tensor, pace: Pace) -> None:
    """w ← w − rate / (1 − β₁ᵗ) · m / (√(v / (1 − β₂ᵗ)) + ε), in place; all [R, P].

    A replica that is not active, whose gradient may be NaN, stays as it is.
    """
    if weights.device.type == "cpu":
        update_by_row(weights, grads, first, second, pace)
    else:
        serving(weights, "adam").update(weights, grads, first, second, pace)
