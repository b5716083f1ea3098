"""What a run is made of: frozen dataclasses, the published settings, and the key of a run."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, TypeVar, get_type_hints

from gmpool.errors import UserError, unknown
from gmpool.options import at_least, coerce


@dataclass(frozen=True)
class TrainConfig:
    """How a model is trained. The defaults are the paper's for the TU sets."""

    batch_size: int = 128
    lr: float = 5e-4
    weight_decay: float = 1e-4
    epochs: int = 500
    patience: int | None = 50
    """Stop after so many epochs without a better validation loss; none: never."""
    warmup_epochs: int = 50
    """The learning rate rises linearly for so long, then follows a cosine down to 0."""
    clip_norm: float | None = 1.0
    """Gradients longer than this are shortened to it; none: never."""
    select_by: str = "loss"
    """The weights that are tested: best validation "loss" or best validation "metric"."""

    @property
    def cosine_epochs(self) -> float:
        """When the cosine has brought the learning rate down to 0."""
        return self.epochs


@dataclass(frozen=True)
class ReconstructTrainConfig(TrainConfig):
    """How an autoencoder is trained. The defaults are the paper's for ZINC; one graph alone has
    settings of its own (`gmpool.tasks.reconstruct.settings`)."""

    lr: float = 5e-3
    weight_decay: float = 0.0
    warmup_epochs: int = 0
    clip_norm: float | None = None

    @property
    def cosine_epochs(self) -> float:
        """The learning rate stays as it is: a cosine that never comes down."""
        return math.inf


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


@dataclass(frozen=True)
class AutoencoderConfig:
    """Encoder, pooling, unpooling and decoder."""

    method: str = "gmt"
    hidden_dim: int = 32
    num_layers: int = 2
    """Of the encoder."""
    decoder_layers: int = 3
    """The paper says two, the authors' code has three."""
    ratio: float = 0.25
    """How many rows are left of a graph, as a share of the set's mean number of nodes."""
    objective: str = "x"
    """What is learned: the node features ("x") or the adjacency ("a")."""
    auxiliary: bool = True
    """Whether the method's own losses are added."""
    pool: Mapping[str, Any] = field(default_factory=dict)
    """Options of the pooling method, by its constructor's names."""


@dataclass(frozen=True)
class RunSpec:
    """A run is a pure function of this; its key is a digest of it."""

    task: str
    dataset: str
    data_digest: str
    model: ModelConfig | AutoencoderConfig
    train: TrainConfig
    seed: int
    fold: int
    split_digest: str

    @property
    def key(self) -> str:
        text = json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:20]


def _tu(**changes: Any) -> dict[str, Any]:
    return changes


def _ogb(**changes: Any) -> dict[str, Any]:
    # The authors' code trains molecules for all epochs and tests the best validation metric.
    return {"lr": 1e-3, "patience": None, "select_by": "metric", **changes}


# The authors' published settings. num_heads and layer_norm are options of GMT.
AUTHORS: Mapping[str, Mapping[str, Any]] = {
    "DD": _tu(batch_size=10, hidden_dim=32, num_heads=4),
    "PROTEINS": _tu(num_heads=2),
    "MUTAG": _tu(num_heads=4, layer_norm=True),
    "IMDB-BINARY": _tu(num_heads=1),
    "IMDB-MULTI": _tu(num_heads=1),
    "COLLAB": _tu(num_heads=2),
    "ogbg-molhiv": _ogb(batch_size=512, num_heads=4),
    "ogbg-moltox21": _ogb(num_heads=1),
    "ogbg-moltoxcast": _ogb(num_heads=8),
    "ogbg-molbbbp": _ogb(num_heads=2, layer_norm=True),
}

# For a user's own data, about which nothing is published.
OWN_DATA: Mapping[str, Any] = {"lr": 1e-3, "num_heads": 2, "layer_norm": True}

_GMT_ONLY = ("num_heads", "layer_norm")

# What a method's row of the paper says beyond its pooling.
METHOD_SETTINGS: Mapping[str, Mapping[str, Any]] = {"gin": {"conv": "gin"}}


def published_settings(dataset: str, method: str) -> dict[str, Any]:
    """The settings for a set; those that only GMT knows are left out for other methods."""
    settings = dict(AUTHORS.get(dataset, OWN_DATA))
    if method != "gmt":
        settings = {k: v for k, v in settings.items() if k not in _GMT_ONLY}
    return {**settings, **METHOD_SETTINGS.get(method, {})}


def configure(
    dataset: str,
    method: str,
    pool_options: Collection[str],
    overrides: Mapping[str, Any],
    pool_types: Mapping[str, str] | None = None,
) -> tuple[ModelConfig, TrainConfig]:
    """Published settings first, then the user's.

    pool_options: the option names of the method, and pool_types their declared types. A key that
    neither the configuration nor the method knows is an error, and so is a value of another type.
    """
    types = {name: (pool_types or {}).get(name, "") for name in pool_options}
    settings = {**published_settings(dataset, method), **overrides}
    model, train = assemble(ModelConfig(method=method), TrainConfig(), settings, types)
    _check(model, train)
    return model, train


M = TypeVar("M", ModelConfig, AutoencoderConfig)
T = TypeVar("T", bound=TrainConfig)


def assemble(
    model: M, train: T, settings: Mapping[str, Any], pool_types: Mapping[str, str]
) -> tuple[M, T]:
    """Both with the settings, each of which goes where its name is known; pool_types are those of
    the method's options."""
    pool: dict[str, Any] = {}
    model_keys: set[str] = {f.name for f in fields(model)} - {"method", "pool"}
    train_keys: set[str] = {f.name for f in fields(train)}
    for key, value in settings.items():
        if key in train_keys:
            train = replace(train, **{key: coerce(_hint(type(train), key), key, value)})
        elif key.startswith("pool."):
            name = _known(key[5:], pool_types, model.method)
            pool[name] = coerce(pool_types[name], key, value)
        elif key in model_keys:
            model = replace(model, **{key: coerce(_hint(type(model), key), key, value)})
        elif key in pool_types:
            pool[key] = coerce(pool_types[key], key, value)
        else:
            raise unknown("option", key, [*train_keys, *model_keys, *pool_types])
    return replace(model, pool=pool), train


def _known(key: str, options: Collection[str], method: str) -> str:
    if key not in options:
        raise unknown(f"option of {method}", key, options)
    return key


def _hint(cls: type, key: str) -> str:
    return str(get_type_hints(cls)[key])


def _check(model: ModelConfig, train: TrainConfig) -> None:
    check_training(train)
    at_least(("hidden_dim", model.hidden_dim, 2), ("num_layers", model.num_layers, 0))
    if not 0 <= model.dropout < 1:
        raise UserError(f"option dropout must lie in [0, 1), got {model.dropout}")
    if model.conv not in ("gcn", "gin"):
        raise unknown("convolution", model.conv, ("gcn", "gin"))


def check_training(train: TrainConfig) -> None:
    """Raises if a value makes no sense."""
    at_least(
        ("batch_size", train.batch_size, 1),
        ("epochs", train.epochs, 1),
        ("patience", 1 if train.patience is None else train.patience, 1),
        ("warmup_epochs", train.warmup_epochs, 0),
    )
    clip_norm = 1.0 if train.clip_norm is None else train.clip_norm
    for key, number in (("lr", train.lr), ("clip_norm", clip_norm)):
        if not number > 0:
            raise UserError(f"option {key} must be positive, got {number}")
    if not train.weight_decay >= 0:
        raise UserError(f"option weight_decay must not be negative, got {train.weight_decay}")
    if train.select_by not in ("loss", "metric"):
        raise unknown("select_by", train.select_by, ("loss", "metric"))
