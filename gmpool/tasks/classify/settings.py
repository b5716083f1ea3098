"""The published settings of a classification, and the user's over them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gmpool.config import TrainConfig, assemble
from gmpool.errors import UserError, unknown
from gmpool.options import at_least
from gmpool.pool import METHODS


@dataclass(frozen=True)
class ModelConfig:
    """Encoder, pooling and classifier."""

    method: str = "gmt"
    hidden_dim: int = 128
    num_layers: int = 3
    conv: str = "gcn"
    """Message passing of the encoder: gcn or gin (molecules with bonds: the bond convolution)."""
    dropout: float = 0.5
    """Of the classifier."""
    pool: Mapping[str, Any] = field(default_factory=dict)
    """Options of the pooling method, by its constructor's names."""


# The authors' code trains molecules for all epochs and tests the best validation metric.
_OGB: Mapping[str, Any] = {"lr": 1e-3, "patience": None, "select_by": "metric"}

# The authors' published settings. num_heads and layer_norm are options of GMT.
AUTHORS: Mapping[str, Mapping[str, Any]] = {
    "DD": {"batch_size": 10, "hidden_dim": 32, "num_heads": 4},
    "PROTEINS": {"num_heads": 2},
    "MUTAG": {"num_heads": 4, "layer_norm": True},
    "IMDB-BINARY": {"num_heads": 1},
    "IMDB-MULTI": {"num_heads": 1},
    "COLLAB": {"num_heads": 2},
    "ogbg-molhiv": {**_OGB, "batch_size": 512, "num_heads": 4},
    "ogbg-moltox21": {**_OGB, "num_heads": 1},
    "ogbg-moltoxcast": {**_OGB, "num_heads": 8},
    "ogbg-molbbbp": {**_OGB, "num_heads": 2, "layer_norm": True},
}

# For a user's own data, about which nothing is published.
OWN_DATA: Mapping[str, Any] = {"lr": 1e-3, "num_heads": 2, "layer_norm": True}

_GMT_ONLY = ("num_heads", "layer_norm")


def published_settings(dataset: str, method: str) -> dict[str, Any]:
    """The settings for a set; those that only GMT knows are left out for other methods, which may
    have settings of their own."""
    settings = dict(AUTHORS.get(dataset, OWN_DATA))
    if method != "gmt":
        settings = {k: v for k, v in settings.items() if k not in _GMT_ONLY}
    return {**settings, **(METHODS[method].settings if method in METHODS else {})}


def configure(
    dataset: str, method: str, options: Mapping[str, Any], pool_types: Mapping[str, str]
) -> tuple[ModelConfig, TrainConfig]:
    """Published settings first, then the user's. pool_types: of the method's options."""
    settings = {**published_settings(dataset, method), **options}
    model, train = assemble(ModelConfig(method=method), TrainConfig(), settings, pool_types)
    check_model(model)
    return model, train


def check_model(model: ModelConfig) -> None:
    """Raises if a value makes no sense."""
    at_least(("hidden_dim", model.hidden_dim, 2), ("num_layers", model.num_layers, 0))
    if not 0 <= model.dropout < 1:
        raise UserError(f"option dropout must lie in [0, 1), got {model.dropout}")
    if model.conv not in ("gcn", "gin"):
        raise unknown("convolution", model.conv, ("gcn", "gin"))
