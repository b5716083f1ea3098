"""Whether a model can be made at all, asked before memory is taken for it."""

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import torch
from torch import nn

from gmpool.errors import UserError

MOST_PARAMETERS = 250_000_000
"""A gigabyte of weights, and three more of gradients and of what Adam remembers."""
_SMALL = 100_000  # of the product of all sizes: no model of less comes near the bound


def refuse_giants(build: Callable[[], nn.Module], config: Any) -> None:
    """Raises if the model of a configuration has more parameters than fit.

    build: makes the model. It is counted where tensors have shapes and no memory, and drawing
    weights there leaves the random stream alone.
    """
    sizes = {key: value for key, value in _flat(asdict(config)).items() if type(value) is int}
    if math.prod(max(1, size) for size in sizes.values()) < _SMALL:
        return
    with torch.device("meta"), torch.random.fork_rng([]):
        count = sum(weight.numel() for weight in build().parameters())
    if count > MOST_PARAMETERS:
        largest = max(sizes, key=lambda key: sizes[key])
        raise UserError(
            f"the model would have {count:,} parameters, more than the {MOST_PARAMETERS:,} that "
            f"are allowed; make {largest}={sizes[largest]:,} smaller"
        )


def _flat(config: dict[str, Any]) -> dict[str, Any]:
    return {**config, **config.get("pool", {})}
