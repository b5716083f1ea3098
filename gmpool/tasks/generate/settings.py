"""The published settings of MolGAN, and the user's over them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gmpool.config import TrainConfig, assemble
from gmpool.errors import UserError, unknown
from gmpool.options import at_least, between
from gmpool.tasks.generate.rewards import REWARDS

OUTPUTS = ("softmax", "gumbel", "hard")


@dataclass(frozen=True)
class MolGANConfig:
    """Generator and critic. The defaults are those of the published PyTorch code."""

    method: str = "gmpool"
    latent_dim: int = 8
    """Numbers that a molecule is made of."""
    generator_dim: int = 128
    """The generator's layers are so wide, twice and four times as wide."""
    conv_dim: int = 128
    """Of the critic's first relational convolution; the second is half as wide."""
    pool_dim: int = 128
    """Of the gated rows that are pooled."""
    output: str = "softmax"
    """How a generated graph is shown to the critic: "softmax", or drawn, "gumbel" (soft) or "hard"
    (one-hot, with the gradient of the soft one)."""
    temperature: float = 1.0
    """Of what is drawn."""
    penalty: float = 10.0
    """Weight of the gradient penalty."""
    critic_steps: int = 5
    """Of the critic for one of the generator."""
    imitation: float = 1.0
    """The share λ of imitation in what the generator learns; the rest are rewards."""
    rewards: str = "validity-sa"
    """Those that are multiplied, joined by "-"."""
    pool: Mapping[str, Any] = field(default_factory=dict)
    """Options of the pooling, by its constructor's names."""


@dataclass(frozen=True)
class MolGANTrainConfig(TrainConfig):
    """How a MolGAN is trained. An epoch is a number of iterations, of which each moves the critic
    on one batch."""

    batch_size: int = 16
    lr: float = 1e-4
    weight_decay: float = 0.0
    epochs: int = 20
    patience: int | None = None
    warmup_epochs: int = 0
    clip_norm: float | None = None
    epoch_steps: int | None = 500
    draws: int = 13_319
    """Molecules that are made and scored after every epoch."""

    @property
    def cosine_epochs(self) -> float:
        """The learning rate stays as it is."""
        return math.inf


def molgan_settings(
    method: str, options: Mapping[str, Any], types: Mapping[str, str]
) -> tuple[MolGANConfig, MolGANTrainConfig]:
    """types: of the pooling's options."""
    model, train = assemble(MolGANConfig(method=method), MolGANTrainConfig(), options, types)
    check_model(model)
    between(1, 10_000_000, draws=train.draws)
    if train.epoch_steps is None:
        raise UserError("epoch_steps must be a number: an epoch of a MolGAN is so many iterations")
    return model, train


def check_model(model: MolGANConfig) -> None:
    """Raises if a value makes no sense."""
    at_least(
        ("latent_dim", model.latent_dim, 1),
        ("generator_dim", model.generator_dim, 1),
        ("conv_dim", model.conv_dim, 2),
        ("pool_dim", model.pool_dim, 1),
        ("critic_steps", model.critic_steps, 1),
    )
    if model.output not in OUTPUTS:
        raise unknown("output", model.output, OUTPUTS)
    if not 0 < model.temperature <= 1000:
        raise UserError(f"temperature must lie in (0, 1000], got {model.temperature}")
    between(0, 10_000, penalty=model.penalty, critic_steps=model.critic_steps)
    if not 0 <= model.imitation <= 1:
        raise UserError(f"imitation must lie in [0, 1], got {model.imitation}")
    for name in model.rewards.split("-"):
        if name not in REWARDS:
            raise unknown("reward", name, REWARDS)
