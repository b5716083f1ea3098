"""The published settings of reconstructions, and the user's over them."""

from __future__ import annotations

from typing import Any

import pytest

from gmpool.data import Card
from gmpool.errors import UserError
from gmpool.tasks.reconstruct.compress import COMPRESSIONS
from gmpool.tasks.reconstruct.settings import AutoencoderConfig, ReconstructTrainConfig
from gmpool.tasks.task import TASKS


def settings(
    method: str, options: dict[str, Any], *, one_graph: bool
) -> tuple[AutoencoderConfig, ReconstructTrainConfig]:
    """As the task does it."""
    card = Card("a set", "d", ("s",), graphs=1 if one_graph else 100, nodes=100)
    return TASKS["reconstruct"].settings(card, method, options)


@pytest.mark.parametrize("method", COMPRESSIONS)
def test_the_published_settings(method: str) -> None:
    model, train = settings(method, {}, one_graph=False)
    assert model == AutoencoderConfig(method=method)
    assert train == ReconstructTrainConfig()
    assert (train.lr, train.weight_decay, train.clip_norm) == (5e-3, 0.0, None)
    assert (train.batch_size, train.epochs, train.patience) == (128, 500, 50)
    model, train = settings(method, {}, one_graph=True)
    assert model.pool == ({"layer_norm": True} if method == "gmt" else {})
    assert (train.batch_size, train.epochs, train.patience) == (1, 10_000, 1000)


def test_the_users_options_come_last() -> None:
    options = {"layer_norm": "false", "ratio": "0.1", "lr": "1e-3", "pool.conv": "gin"}
    model, train = settings("gmt", options, one_graph=True)
    assert model.pool == {"layer_norm": False, "conv": "gin"}
    assert (model.ratio, train.lr) == (0.1, 1e-3)


@pytest.mark.parametrize(
    ("method", "options", "text"),
    [
        ("mean", {}, "unknown method that reconstructs 'mean'"),
        ("gmt", {"ratio": 1.5}, r"ratio must lie in \(0, 1\], got 1.5"),
        ("gmt", {"objective": "y"}, "unknown objective 'y'"),
        ("gmt", {"decoder_layers": 0}, "option decoder_layers must be at least 1, got 0"),
        ("gmt", {"num_heads": 2}, "unknown option 'num_heads'"),
        ("gmt", {"dropuot": 1}, "unknown option 'dropuot'; did you mean 'dropout'"),
        ("mincut", {"normalise": "maybe"}, "takes true or false, got 'maybe'"),
        ("gmt", {"schedule": "exponential"}, "option schedule=exponential: .* leave it out"),
        ("gmt", {"lr": "-1"}, "option lr must be positive, got -1"),
    ],
)
def test_a_wrong_option_is_named(method: str, options: dict, text: str) -> None:
    with pytest.raises(UserError, match=text):
        settings(method, options, one_graph=False)
