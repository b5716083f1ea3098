"""The published settings of a reconstruction, and the user's over them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gmpool.config import (
    AutoencoderConfig,
    ReconstructTrainConfig,
    assemble,
    check_training,
)
from gmpool.errors import unknown
from gmpool.options import at_least
from gmpool.pool.method import check_ratio
from gmpool.tasks.reconstruct.compress import compression_options
from gmpool.tasks.reconstruct.model import OBJECTIVES

# One graph is its own validation part: training stops when its loss no longer falls.
ONE_GRAPH: Mapping[str, Any] = {"batch_size": 1, "epochs": 10_000, "patience": 1000}


def reconstruct_settings(
    method: str, options: Mapping[str, Any], *, one_graph: bool
) -> tuple[AutoencoderConfig, ReconstructTrainConfig]:
    """one_graph: whether the set is one graph, as the paper's ring and grid; else many, as ZINC."""
    types = compression_options(method)
    published = dict(ONE_GRAPH) if one_graph else {}
    if one_graph and method == "gmt":
        published["pool.layer_norm"] = True
    model, train = assemble(
        AutoencoderConfig(method=method),
        ReconstructTrainConfig(),
        {**published, **_prefixed(options, types)},
        types,
    )
    check_training(train)
    check_ratio(model.ratio)
    at_least(
        ("hidden_dim", model.hidden_dim, 1),
        ("num_layers", model.num_layers, 0),
        ("decoder_layers", model.decoder_layers, 1),
    )
    if model.objective not in OBJECTIVES:
        raise unknown("objective", model.objective, OBJECTIVES)
    return model, train


def _prefixed(options: Mapping[str, Any], pool_types: Mapping[str, str]) -> dict[str, Any]:
    """One spelling for the options of a pooling, so that the user's replace the published ones."""
    return {f"pool.{key}" if key in pool_types else key: v for key, v in options.items()}
