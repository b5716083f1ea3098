"""The published settings of GLN, and the user's over them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gmpool.config import TrainConfig, assemble
from gmpool.errors import UserError
from gmpool.options import at_least
from gmpool.tasks.retrosynthesis.encoders import pooling_of


@dataclass(frozen=True)
class GLNConfig:
    """The networks. The defaults are those of the published script, but for the pooling."""

    method: str = "gmpool"
    message_dim: int = 128
    """Of messages between atoms."""
    embed_dim: int = 256
    """Of the vectors of graphs."""
    rounds: int = 3
    """Of message passing."""
    other_pooling: str = "mean"
    """Of the encoders that are not exchanged: those of products and reactants."""
    pool: Mapping[str, Any] = field(default_factory=dict)
    """Options of the pooling, by its constructor's names."""


@dataclass(frozen=True)
class GLNTrainConfig(TrainConfig):
    """How a GLN is trained: an epoch is a number of steps, after which it is validated."""

    batch_size: int = 64
    lr: float = 1e-3
    weight_decay: float = 0.0
    epochs: int = 10
    patience: int | None = None
    warmup_epochs: int = 0
    clip_norm: float | None = 5.0
    epoch_steps: int | None = 3000
    select_by: str = "metric"

    @property
    def cosine_epochs(self) -> float:
        """The learning rate stays as it is."""
        return math.inf


def gln_settings(
    method: str, options: Mapping[str, Any], types: Mapping[str, str]
) -> tuple[GLNConfig, GLNTrainConfig]:
    """types: of the pooling's options."""
    model, train = assemble(GLNConfig(method=method), GLNTrainConfig(), options, types)
    check_model(model)
    if train.epoch_steps is None:
        raise UserError("epoch_steps must be a number: an epoch of a GLN is so many steps")
    return model, train


def check_model(model: GLNConfig) -> None:
    """Raises if a value makes no sense."""
    at_least(
        ("message_dim", model.message_dim, 1),
        ("embed_dim", model.embed_dim, 1),
        ("rounds", model.rounds, 0),
    )
    pooling_of(model.method)
    if pooling_of(model.other_pooling)(1, conv="gcn").state_dict():
        raise UserError(f"other_pooling takes mean, sum or max, got {model.other_pooling!r}")
