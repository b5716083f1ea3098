"""The published settings of a reconstruction, and the user's over them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gmpool.config import TrainConfig, assemble
from gmpool.errors import unknown
from gmpool.options import at_least
from gmpool.pool.method import check_ratio

OBJECTIVES = ("x", "a")


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
class ReconstructTrainConfig(TrainConfig):
    """How an autoencoder is trained. The defaults are the paper's for ZINC."""

    lr: float = 5e-3
    weight_decay: float = 0.0
    warmup_epochs: int = 0
    clip_norm: float | None = None

    @property
    def cosine_epochs(self) -> float:
        """The learning rate stays as it is: a cosine that never comes down."""
        return math.inf


# One graph is its own validation part: training stops when its loss no longer falls.
ONE_GRAPH: Mapping[str, Any] = {"batch_size": 1, "epochs": 10_000, "patience": 1000}


def reconstruct_settings(
    method: str, options: Mapping[str, Any], types: Mapping[str, str], *, one_graph: bool
) -> tuple[AutoencoderConfig, ReconstructTrainConfig]:
    """types: of the method's options. one_graph: whether the set is one graph, as the paper's ring
    and grid; else many, as ZINC."""
    published = dict(ONE_GRAPH) if one_graph else {}
    if one_graph and method == "gmt":
        published["pool.layer_norm"] = True
    model, train = assemble(
        AutoencoderConfig(method=method),
        ReconstructTrainConfig(),
        {**published, **_prefixed(options, types)},
        types,
    )
    check_model(model)
    return model, train


def check_model(model: AutoencoderConfig) -> None:
    """Raises if a value makes no sense."""
    check_ratio(model.ratio)
    at_least(
        ("hidden_dim", model.hidden_dim, 1),
        ("num_layers", model.num_layers, 0),
        ("decoder_layers", model.decoder_layers, 1),
    )
    if model.objective not in OBJECTIVES:
        raise unknown("objective", model.objective, OBJECTIVES)


def _prefixed(options: Mapping[str, Any], pool_types: Mapping[str, str]) -> dict[str, Any]:
    """One spelling for the options of a pooling, so that the user's replace the published ones."""
    return {f"pool.{key}" if key in pool_types else key: v for key, v in options.items()}
