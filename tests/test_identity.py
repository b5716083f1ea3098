"""The key of a run: equal for equal runs, another for every other."""

from __future__ import annotations

from dataclasses import asdict, fields

import pytest

from gmpool.config import TrainConfig
from gmpool.identity import run_key, settings_of
from gmpool.tasks.classify.settings import ModelConfig

DEFAULTS = {"model": asdict(ModelConfig()), "train": asdict(TrainConfig())}
OPTIONS = {"num_heads": 1, "layer_norm": False}
RUN = {"task": "classify", "data_digest": "d", "split_digest": "s", "seed": 42}
# Of every setting a value that is not the default.
CHANGES = {
    "model.hidden_dim": 64,
    "model.num_layers": 2,
    "model.conv": "gin",
    "model.dropout": 0.1,
    "model.state_dim": 64,
    "model.descriptors": "quick",
    "model.class_weight": "balanced",
    "model.batch_norm": "inside",
    "model.members": 5,
    "model.members_by": "folds",
    "model.pool": {"num_heads": 2},
    "train.batch_size": 64,
    "train.lr": 1e-3,
    "train.weight_decay": 0.0,
    "train.epochs": 100,
    "train.patience": None,
    "train.warmup_epochs": 10,
    "train.clip_norm": 2.0,
    "train.select_by": "metric",
    "train.epoch_steps": 10,
    "train.schedule": "exponential",
}


def key(config: dict[str, dict[str, object]], **changes: object) -> str:
    settings = settings_of(config, DEFAULTS, OPTIONS)
    return run_key(**{**RUN, **changes}, settings=settings)


def config(**changes: object) -> dict[str, dict[str, object]]:
    """{"model": …, "train": …}, the defaults with changes by names with a dot."""
    made = {part: dict(values) for part, values in DEFAULTS.items()}
    for path, value in changes.items():
        part, _, name = path.partition(".")
        made[part][name] = value
    return made


def test_the_key_is_the_same_in_every_session() -> None:
    """Recorded rows have such keys: this one never changes."""
    made = config(**{"model.pool": {"num_heads": 4}, "train.lr": 1e-3})
    assert key(made) == "ea4bd7a0c297b207376b"


def test_every_setting_changes_the_key() -> None:
    known = {f"model.{f.name}" for f in fields(ModelConfig)} - {"model.method"}
    known |= {f"train.{f.name}" for f in fields(TrainConfig)}
    assert set(CHANGES) == known, "a new setting needs a line here"
    keys = {key(config(**{path: value})) for path, value in CHANGES.items()}
    keys |= {key(config()), key(config(**{"model.method": "mean"}))}
    assert len(keys) == len(CHANGES) + 2


@pytest.mark.parametrize(
    "change",
    [{"task": "other"}, {"data_digest": "e"}, {"split_digest": "t"}, {"seed": 43}],
    ids=str,
)
def test_all_else_changes_the_key(change: dict[str, object]) -> None:
    assert key(config(), **change) != key(config())


def test_a_default_said_aloud_or_not_at_all_is_one_run() -> None:
    """So that a new setting whose default keeps the old behaviour changes no key."""
    aloud = config(**{"model.pool": {"num_heads": 1, "layer_norm": False}})
    assert key(aloud) == key(config())
    silent = {"model": {"method": "gmt", "pool": {}}, "train": {}}
    assert key(silent) == key(config())
    assert settings_of(silent, DEFAULTS, OPTIONS) == {"method": "gmt"}


def test_an_option_that_nobody_knows_any_more_counts() -> None:
    settings = settings_of(config(**{"model.pool": {"gone": None}}), DEFAULTS, OPTIONS)
    assert settings == {"method": "gmt", "pool.gone": None}


def test_settings_of_parts_do_not_meet() -> None:
    """The encoder's dropout is not the pooling's, nor is its convolution."""
    made = config(**{"model.conv": "gin", "model.pool": {"conv": "gin"}})
    assert settings_of(made, DEFAULTS, {"conv": "gcn"}) == {
        "method": "gmt", "conv": "gin", "pool.conv": "gin"
    }  # fmt: skip
