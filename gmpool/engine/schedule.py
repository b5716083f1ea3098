"""The learning rate over a training."""

import math


def cosine_with_warmup(step: int, *, warmup: float, total: float) -> float:
    """Factor of the learning rate at a step: linear from 0 to 1, then half a cosine to 0, which
    for a total of infinity stays at 1."""
    if step < warmup:
        return step / warmup
    progress = (step - warmup) / max(1, total - warmup)
    return max(0.0, 0.5 * (1 + math.cos(math.pi * progress)))
